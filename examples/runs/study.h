// A study: runs, each of which is done once and kept in its own folder, and their results.
//
//   Study study({.out = "runs/isotropy", .jobs = 2});
//   const Run run{"tab1-mrpc-none", {{"--lr", "1e-4"}, {"--seed", "11711"}}, work};
//   if (!study.run({run, other})) return 130;         // interrupted: the next start goes on
//   study.result(run)["accuracy"].number();
//
// A run belongs to its name, its options and its version: two that are equal in these are one. A
// study that was interrupted goes on where it was, and a wider one computes only the runs that are
// new.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "files/lock.h"
#include "minbert/json.h"

namespace minbert {

using OptionValues = std::map<std::string, std::string>;   // values by their options
Json json_of(const OptionValues& settings);

struct Run {
  std::string name;                         // for people; begins the name of its folder
  OptionValues options;                     // everything that its result depends on
  // Works in the folder, which no other run uses, and returns the result. Throws Interrupted
  // (train/interrupt.h); it then goes on with what it left in the folder.
  std::function<Json(const std::string& folder)> work;
  // relative to other runs, for the estimate of the time left
  double cost = 1;
  std::string folder = {};                  // in OUT; empty: runs/NAME-KEY
  std::vector<std::string> scratch = {};    // what is deleted in its folder when its result is kept
  // Raised where `work` changes: a result of an older version is another run's
  int version = 1;
};

struct StudyOptions {
  std::string out;
  // Runs side by side, each a process with one thread; 1: one after the other in this process
  int jobs = 1;
  std::vector<std::string> command = {};    // of this program, with which each process is started
  std::string only = {};                    // such a process: the key of its run
  // A run folder's own study: what its runs print is shown, and not in a log
  bool show = false;
};

class Study {
 public:
  // Makes the folder. Errors: it holds something else than a study; or another process works in it.
  explicit Study(const StudyOptions& options);
  Study(const Study&) = delete;
  Study& operator=(const Study&) = delete;

  // Does every run that is not done, with a line for each and the time left. False: interrupted.
  // What a run prints is in FOLDER/log.txt. Error of a run: its message, its name and its log. A
  // process of one run (StudyOptions::only) ends here.
  bool run(const std::vector<Run>& runs);
  // Error if the run's folder has a run with other options.
  bool is_done(const Run& run) const;
  Json result(const Run& run) const;             // Error for a run that is not done
  double seconds(const Run& run) const;          // that it took, since it last began
  std::string done_by(const Run& run) const;     // "65872e1 (cpu, 2 threads)": the program's commit, and on what
  std::string folder(const Run& run) const;
  // The fingerprint of a file, computed once.
  std::string fingerprint(const std::string& file);

 private:
  void take_folder();
  bool run_here(const std::vector<const Run*>& runs);
  bool run_beside(const std::vector<const Run*>& runs);
  bool work(const Run& run);
  const Json& record(const Run& run) const;      // FOLDER/done.json

  StudyOptions options_;
  std::optional<FolderLock> lock_;
  mutable std::map<std::string, Json> records_;       // by folder
  std::map<std::string, std::string> fingerprints_;   // by file
};

std::string key_of(const Run& run);         // the fingerprint of its options and its version

}  // namespace minbert
