// The progress line: where it stands, and that nothing of it stays.
#include <doctest/doctest.h>

#include <iostream>
#include <sstream>

#include "child.h"
#include "error_of.h"
#include "files/progress.h"
#include "minbert/files.h"
#include "small_run.h"
#include "train/cli/command_line.h"

namespace minbert::test {
namespace {

constexpr const char* cleared = "\r\033[K";

// A pseudo-terminal.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE((master_ >= 0 && grantpt(master_) == 0 && unlockpt(master_) == 0));
    name = ptsname(master_);
    slave_ = open(name.c_str(), O_RDWR | O_NOCTTY);  // kept open: what is written stays to be read
  }
  ~Terminal() { close(master_), close(slave_); }
  std::string shown() const {                       // so far
    std::string text;
    char buffer[4096];
    fcntl(master_, F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = read(master_, buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
    return text;
  }
  std::string name;

 private:
  int master_, slave_;
};

}  // namespace

TEST_CASE("progress: work in another process" * doctest::skip()) {
  int where = 0;
  std::istringstream(Child::told()) >> where;
  {
    Progress progress("work", 4, Progress::Where(where));
    usleep(250'000);
    progress.update(1);
    progress.update(4);                             // not shown: it is done
  }
  std::cout << "result" << std::endl;
}

TEST_CASE("progress: a line on the terminal, gone at the end; never among a program's results") {
  if (access("/dev/pts/ptmx", R_OK) != 0) {
    std::cout << "progress on a terminal: not run (no /dev/pts)\n";
    return;
  }
  const SmallWorld world;
  const std::string file = world.path("file");
  struct Shown {
    std::string terminal, file;
  };
  const auto shown = [&](Progress::Where where, bool out, bool error, const char* kind = "xterm") {
    const Terminal terminal;
    write_file(file, "");
    setenv("TERM", kind, 1);
    Child("progress: work in another process", std::to_string(int(where)), out ? terminal.name : file,
          error ? terminal.name : "/dev/null").peak_memory();
    return Shown{terminal.shown(), read_file(file)};
  };
  using enum Progress::Where;
  for (const auto& [where, out, error, expected] :
       {std::tuple(Progress::Where::terminal, true, true, true), {Progress::Where::terminal, false, true, true},
        {Progress::Where::terminal, true, false, false}, {beside_results, true, true, false},
        {beside_results, false, true, true}, {log, true, true, true}, {log, false, true, true},
        {log, true, false, false}}) {
    INFO(int(where) << ", stdout a terminal: " << out << ", stderr: " << error);
    const Shown is = shown(where, out, error);
    CHECK(contains(is.terminal, cleared + std::string("\033[?7l 25%  ")) == expected);
    CHECK(contains(is.terminal, " s left  work\033[?7h" + std::string(cleared)) == expected);
    CHECK(contains(is.terminal, "left") == expected);
    CHECK(contains(out ? is.terminal : is.file, (out && expected ? cleared : "") + std::string("result")));
    CHECK_FALSE((!out && contains(is.terminal, "result")));
    CHECK_FALSE(contains(is.file, "left"));         // 15 s would have to pass
    CHECK_FALSE(contains(is.file, "\033"));
  }
}

TEST_CASE("progress: a terminal that clears no line is none") {
  if (access("/dev/pts/ptmx", R_OK) != 0) {
    std::cout << "progress on a dumb terminal: not run (no /dev/pts)\n";
    return;
  }
  const Terminal terminal;
  for (const char* kind : {"dumb", ""}) {
    setenv("TERM", kind, 1);
    if (!*kind) unsetenv("TERM");
    Child("progress: work in another process", "0", terminal.name, terminal.name).peak_memory();
    const std::string shown = terminal.shown();
    INFO(shown);
    CHECK(contains(shown, "result"));
    CHECK_FALSE(contains(shown, "left"));
    CHECK_FALSE(contains(shown, "\033[K"));         // doctest prints in colours
    CHECK_FALSE(contains(shown, "\033[?7l"));
  }
}

TEST_CASE("progress: without a terminal there is none, whoever asks") {
  const SmallWorld world;
  write_file(world.path("file"), "");
  Child("progress: work in another process", "0", world.path("file")).peak_memory();
  CHECK_FALSE(contains(read_file(world.path("file")), "left"));
}

}  // namespace minbert::test
