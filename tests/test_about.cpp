// --version, and the data that come with minbert, from whatever folder a program is started in.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>

#include "child.h"
#include "engine/process.h"
#include "error_of.h"
#include "files/about.h"
#include "golden_file.h"
#include "minbert/shipped.h"
#include "shell.h"
#include "small_run.h"
#include "train/cli/command_line.h"

namespace minbert::test {
namespace {

namespace fs = std::filesystem;

const char* const shows_data = "about: a process that shows where data/papers is";
std::string where_data_is(const std::string& folder, const std::string& program, const std::string& by = "data") {
  const ShellResult result = shell(folder, "'" + program + "' --no-skip --test-case='" + shows_data + "'");
  INFO(result.said);
  std::smatch found;
  REQUIRE(std::regex_search(result.said, found, std::regex(by + ": (.*)\n")));
  return found[1];
}

}  // namespace

TEST_CASE("about: a process that shows where data/papers is" * doctest::skip()) {
  std::cout << "data: " << shipped("data/papers") << '\n';
  std::cout << "headers: " << shipped("data/papers", "other/include/minbert/shipped.h") << '\n';
}

TEST_CASE("about: a program finds the data of its repository, its installation or its headers, from any folder") {
  const SmallWorld world;
  const std::string program = fs::read_symlink("/proc/self/exe").string();
  const std::string in_repository = where_data_is(world.path(""), program);
  CHECK(fs::path(in_repository).is_absolute());
  CHECK(fs::equivalent(in_repository, repository("data/papers")));
  CHECK(where_data_is(repository(), program) == "data/papers");

  for (const char* folder : {"prefix/bin", "prefix/share/minbert/data", "links"})
    fs::create_directories(world.path(folder));
  fs::copy_file(program, world.path("prefix/bin/test"));
  fs::create_symlink("../prefix/bin/test", world.path("links/test"));
  CHECK(where_data_is(world.path(""), world.path("links/test")) == "data/papers");          // no data came with it
  CHECK(where_data_is(world.path(""), world.path("links/test"), "headers") == "data/papers");
  for (const char* kind : {"other/share/minbert/data", "other/data"}) {                     // installed; a repository
    fs::create_directories(world.path(kind));
    write_file(world.path(formatted("{}/grammar.txt", kind)), "");
    CHECK(where_data_is(world.path(""), world.path("links/test"), "headers") == formatted("{}/papers", kind));
  }
  write_file(world.path("prefix/share/minbert/data/grammar.txt"), "");
  for (const char* file : {"prefix/bin/test", "links/test"})
    for (const char* by : {"data", "headers"})
      CHECK(fs::path(where_data_is(world.path(""), world.path(file), by)) ==
            fs::canonical(world.path("prefix")) / "share/minbert/data/papers");
}

TEST_CASE("about: a process that is asked for its version or its help" * doctest::skip()) {
  CommandLine line("program", "for the tests");
  std::string name = "program", asked = Child::told();
  std::vector<char*> words = {name.data(), asked.data()};
  line.parse(2, words.data());
}

TEST_CASE("about: --version names the version, the commit, the compiler and OpenBLAS with its kernels; -h is --help") {
  const SmallWorld world;
  const auto says = [&](const std::string& option) {
    write_file(world.path("said.txt"), "");
    Child("about: a process that is asked for its version or its help", option, world.path("said.txt")).peak_memory();
    return read_file(world.path("said.txt"));
  };
  const std::string said = says("--version");
  INFO(said);
  CHECK(contains(said, formatted("program (minbert) {}, commit {}\n", version(), build_commit())));
  const std::regex form(".*\\d+\\.\\d+\\.\\d+, commit (\\w{7,}|v\\d).*\n(g\\+\\+|clang) .*, OpenBLAS \\d+\\.\\d+.*" +
                        openblas_kernels() + " kernels\n");
  CHECK(std::regex_search(said, form));
  CHECK(contains(says("--help"), "--version"));
  CHECK(says("-h") == says("--help"));
}

TEST_CASE("about: the commit is the repository's own, or unknown") {
  const SmallWorld world;
  const std::string tree = world.path("outer/tree");
  fs::create_directories(tree);
  fs::copy(repository("Makefile"), tree + "/Makefile");
  fs::copy(repository(".build"), tree + "/.build", fs::copy_options::recursive);
  for (const char* folder : {"/src", "/data", "/tests", "/include", "/examples"}) fs::create_directories(tree + folder);
  if (!installed("git", "the commit of a build")) return;
  const auto commit = [&] {
    const ShellResult made = shell(tree, "env -u MAKEFLAGS -u MAKELEVEL make build/commit.h INSTALL=0");
    INFO(made.said);
    REQUIRE(made.status == 0);
    std::smatch found;
    const std::string text = read_file(tree + "/build/commit.h");
    REQUIRE(std::regex_search(text, found, std::regex("MINBERT_COMMIT \"(.*)\"")));
    return found[1].str();
  };
  const std::string repository_here =
      "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a && git rev-parse HEAD";
  CHECK(commit() == "unknown");
  shell(world.path("outer"), repository_here);       // the tree is in another repository
  CHECK(commit() == "unknown");
  const ShellResult own = shell(tree, repository_here);
  REQUIRE(own.status == 0);
  CHECK(own.said.starts_with(commit()));
  CHECK(commit().size() >= 7);
  write_file(tree + "/.git/HEAD", "damaged");        // as where git does not trust the folder's owner
  CHECK(commit() == "unknown");
}

}  // namespace minbert::test
