// Doing the runs of a study, one after the other or side by side; and what is printed of them: a line for
// each with the time left, and what it prints itself in its log.
#include "runs/study.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <set>

#include "engine/clock.h"
#include "engine/ranks.h"
#include "engine/text.h"
#include "files/fingerprint.h"
#include "files/progress.h"
#include "minbert/files.h"
#include "report/environment.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

constexpr int interrupted_status = 130;

// Starts the program once more for this run alone. The copy of the lock that it inherits keeps
// others out of the study even if this process dies; then it is asked to save and to end, too.
pid_t start(std::vector<std::string> command, const std::string& key, const std::string& log) {
  command.insert(command.end(), {"--only-run", key});
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  MB_CHECK(child >= 0, "no process can be started for a run: {}", std::strerror(errno));
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

// ---- What is printed

// While it lives, what is printed goes to the end of a file. No bar of progress is drawn in a file.
class PrintTo {
 public:
  explicit PrintTo(const std::string& file)
      : out_(dup(STDOUT_FILENO)), errors_(dup(STDERR_FILENO)) {
    flush();
    const int log = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    MB_CHECK(log >= 0, "{}: cannot be written: {}", file, std::strerror(errno));
    put(log, log);
    close(log);
  }
  ~PrintTo() {
    flush();
    put(out_, errors_);
    close(out_);
    close(errors_);
    std::clearerr(stdout);
    // the log's disk may be full; the terminal's is not
    std::cout.clear();
    std::cerr.clear();
  }

 private:
  static void flush() {
    std::cout.flush();
    std::fflush(stdout);
  }
  static void put(int out, int errors) {
    dup2(out, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
  }
  int out_, errors_;                                // where both went before
};

// What is done and the time left, foreseen from the cost of what was done since the start.
class Plan {
 public:
  explicit Plan(const std::vector<const Run*>& runs) : count_(runs.size()) {
    for (const Run* run : runs) left_ += run->cost;
  }
  void begin(const Run& run) const {                // a line that the next one replaces
    if (shows_lines())
      std::cerr << formatted("\r\033[K[{}/{}] {} ...{}", number_ + 1, count_, run.name, left())
                << std::flush;
  }
  void done(const Run& run, double seconds) {
    ++number_;
    left_ -= run.cost;
    done_ += run.cost;
    std::cerr << (shows_lines() ? "\r\033[K" : "")
              << formatted("[{}/{}] {}  {} s{}", number_, count_, run.name, std::lround(seconds),
                           left())
              << std::endl;
  }

 private:
  std::string left() const {
    if (done_ == 0 || number_ == count_) return "";
    const double minutes = (now() - start_) / done_ * left_ / 60;
    return minutes < 1 ? "; less than a minute left"
                       : formatted("; {} min left", std::lround(minutes + 0.5));
  }

  size_t count_, number_ = 0;
  double left_ = 0, done_ = 0, start_ = now();
};

std::string last_lines(const std::string& file, size_t lines) {
  const std::string text = fs::exists(file) ? read_file(file) : "";
  size_t begin = text.size();
  for (size_t n = 0; begin != text.npos && begin > 0 && n <= lines; ++n)
    begin = text.rfind('\n', begin - 1);
  return text.substr(begin == text.npos ? 0 : begin);
}

// What a run's result depends on.
Json identity(const Run& run) {
  Json all = json_of(run.options);
  return run.version == 1 ? all : all.set("version", run.version);
}

}  // namespace

Json json_of(const OptionValues& settings) {
  Json all = Json::object();
  for (const auto& [name, value] : settings) all.set(name, value);
  return all;
}

std::string key_of(const Run& run) { return fingerprint_text(identity(run).dump(-1)); }

Study::Study(const StudyOptions& options) : options_(options) {
  MB_CHECK(
      options.show || ranks().size() == 1,
      "start this program without mpirun: --jobs 4 has four of its runs at work at the same time");
  MB_CHECK(!options.out.empty(), "--out is empty; expected the name of a folder");
  if (ranks().first()) take_folder();
  ranks().wait();                                   // the others find it taken
}

void Study::take_folder() {
  const std::string mark = options_.out + "/study.json";
  MB_CHECK(options_.show || fs::exists(mark) || is_free(options_.out),
           "--out {}: holds something that is no study; choose another folder", options_.out);
  make_folder(options_.out);
  if (!fs::exists(mark)) write_file(mark, Json::object().dump() + "\n");
  if (!options_.only.empty()) return;               // its parent has the lock
  lock_.emplace(options_.out);
}

std::string Study::folder(const Run& run) const {
  return options_.out + "/" +
         (run.folder.empty() ? formatted("runs/{}-{}", run.name, key_of(run)) : run.folder);
}

bool Study::is_done(const Run& run) const {
  const std::string where = folder(run), file = where + "/done.json";
  if (!records_.contains(where)) {
    if (!fs::exists(file)) return false;
    records_[where] = Json::load(file);
  }
  const std::string stored = records_[where]["options"].dump(-1),
                    ours = identity(run).dump(-1);
  MB_CHECK(stored == ours, "{}: a run with other options stands there\n  there: {}\n  now:   {}",
           where, stored, ours);
  return true;
}

const Json& Study::record(const Run& run) const {
  const std::string where = folder(run);
  MB_CHECK(is_done(run), "{}: this run is not done", where);
  return records_.at(where);
}

Json Study::result(const Run& run) const { return record(run)["result"]; }
double Study::seconds(const Run& run) const { return record(run)["seconds"].number(); }
std::string Study::done_by(const Run& run) const {
  const Json& of_run = record(run);
  const Json where = of_run.find("environment");
  if (where.is_null()) return of_run.get("commit", std::string());     // of an earlier program
  return formatted("{} ({}, {})", where["commit"].string(), where["device"].string(),
                   counted(where["threads"].integer(), "thread"));
}

bool Study::work(const Run& run) {
  const std::string where = folder(run);
  make_folder(where);
  std::optional<FolderLock> lock;
  if (ranks().first()) lock.emplace(where);
  const double begin = now();
  Json record = Json::object({{"name", run.name},
                              {"options", identity(run)},
                              {"environment", environment()}});
  try {
    const Json result = run.work(where);
    record.set("seconds", now() - begin).set("result", result);
  } catch (const Interrupted&) {
    return false;
  }
  if (ranks().first()) {
    write_file(where + "/done.json", record.dump() + "\n");
    for (const std::string& file : run.scratch) fs::remove_all(where + "/" + file);
  }
  ranks().wait();                                   // until all this is there for every rank
  return true;
}

bool Study::run_here(const std::vector<const Run*>& runs) {
  Plan plan(runs);
  for (const Run* run : runs) {
    if (ranks().any(interrupted())) return false;
    bool finished = false;
    make_folder(folder(*run));
    if (!options_.show) plan.begin(*run);
    try {
      std::optional<PrintTo> log;
      if (!options_.show) log.emplace(folder(*run) + "/log.txt");
      else std::cout << "\n== " << run->name << " ==\n";
      finished = work(*run);
    } catch (const Error& e) {
      fail(options_.show
               ? e.what()
               : formatted("{}: {}\n  its log: {}/log.txt", run->name, e.what(), folder(*run)));
    }
    if (!finished) return false;
    if (!options_.show || runs.size() > 1) plan.done(*run, seconds(*run));
  }
  return true;
}

bool Study::run_beside(const std::vector<const Run*>& runs) {
  Plan plan(runs);
  std::map<pid_t, const Run*> working;
  bool stopped = false;
  std::string failure;
  for (auto next = runs.begin(); next != runs.end() || !working.empty();) {
    if (interrupted() && !stopped) {
      stopped = true;
      for (const auto& [child, run] : working) kill(child, SIGTERM);       // they save, and end
    }
    if (next != runs.end() && !stopped && failure.empty() && int(working.size()) < options_.jobs) {
      make_folder(folder(**next));
      working[start(options_.command, key_of(**next), folder(**next) + "/log.txt")] = *next;
      ++next;
      continue;
    }
    if (working.empty()) break;
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    // the system has forgotten them: what is missing is done again
    if (child < 0) break;
    if (!working.contains(child)) {
      usleep(20000);
      continue;
    }
    const Run& run = *working.at(child);
    working.erase(child);
    const bool finished = WIFEXITED(status) && WEXITSTATUS(status) == 0 && is_done(run);
    if (finished) plan.done(run, seconds(run));
    else if (stopped || (WIFEXITED(status) && WEXITSTATUS(status) == interrupted_status))
      stopped = true;
    else if (failure.empty())
      failure = formatted("{}: failed; the end of {}/log.txt:{}", run.name, folder(run),
                          last_lines(folder(run) + "/log.txt", 4));
  }
  if (!failure.empty()) fail(failure);
  return !stopped &&
         std::all_of(runs.begin(), runs.end(), [this](const Run* run) { return is_done(*run); });
}

bool Study::run(const std::vector<Run>& runs) {
  std::vector<const Run*> missing;
  std::set<std::string> known;
  for (const Run& run : runs)
    if (known.insert(folder(run)).second && !is_done(run)) missing.push_back(&run);
  ranks().wait();                                   // until every rank has looked
  if (!options_.only.empty()) {
    std::erase_if(missing, [&](const Run* run) { return key_of(*run) != options_.only; });
    if (missing.empty()) return true;               // it is among runs that follow
    for (const Run* run : missing)
      if (!work(*run)) std::exit(interrupted_status);
    std::exit(0);
  }
  if (missing.size() < known.size())
    std::cerr << formatted("{} of {} runs are done already\n", known.size() - missing.size(),
                           known.size());
  const bool finished = options_.jobs > 1 ? run_beside(missing) : run_here(missing);
  if (!finished && !options_.show) std::cerr << "stopped; the same command goes on\n";
  return finished;
}

std::string Study::fingerprint(const std::string& file) {
  std::string& digits = fingerprints_[file];
  if (digits.empty())
    digits = file_fingerprint(file);
  return digits;
}

}  // namespace minbert
