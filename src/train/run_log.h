// What every training run does around its steps: tables and progress line, checks, saving, going
// on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/clock.h"
#include "engine/text.h"
#include "files/lock.h"
#include "files/progress.h"
#include "run_folder.h"
#include "shards.h"
#include "train/command_line.h"

namespace minbert {

class RunLog {
 public:
  // Makes the folder, or goes on with the state in it: parameters and optimizer get its values.
  // losses: how many different losses the run has. state: what the loop itself must keep to go on.
  // While it lives: --profile.
  RunLog(const RunOptions& options, const std::string& folder, const Parameters& parameters,
         Optimizer& optimizer, size_t losses, std::function<Json()> state);
  ~RunLog();

  const Json& loaded() const { return loaded_; }    // the loop's saved state; null in a new run
  int64_t step() const { return step_; }            // optimizer steps taken
  int64_t batches() const { return batches_; }      // seen: the clock of the dropout masks
  double seconds() const { return seconds_; }       // of training, over all starts of the program

  // The first step follows. Both tables, of steps and of reports, go on after the rows that the
  // state counts.
  void start(int64_t all_batches, const std::string& step_columns, const std::string& reports,
             const std::string& report_columns);
  bool save_is_due() const {
    return options_.save_every > 0 && now() - saved_ >= 60 * options_.save_every;
  }
  // To be called before each step. Saves if that is due. Throws Interrupted if the run is to stop,
  // as after `stop_after` steps of this start (0: no limit).
  void before_step(int64_t stop_after, const Shards& shards);
  // After Interrupted: says how to go on. Saves before, if that is asked for, and the run started.
  void stop(bool is_to_save);

  // A batch whose losses are logged
  struct BatchEntry {
    std::string name = {};                          // of the task; pre-training has none
    size_t first_sum = 0;                           // which of the run's losses it begins with
    // counts[i]: how many rows, or masked words, loss i is the mean of
    std::vector<double> counts;
    double learning_rate;
    int64_t tokens;
    std::string progress;                           // "epoch 1/3  sst"
    std::string where;                              // "step 10", should a loss not be finite
  };
  // Logs a batch; called after every one.
  void add(std::span<const double> losses, const BatchEntry& entry);
  void end_step() { ++step_; }

  // Time from here to save() is not counted as training. Error for a weight, statistic or moment
  // that is not finite, or not the same on all ranks.
  void pause();
  // The mean of a loss over all rows, or masked words, since the last report.
  double mean_loss(size_t sum) const;
  // Prints the line and adds the row, if there is one, with the seconds in a last column. Sums
  // begin anew.
  void report(const std::string& line, const std::string& row);
  void save();

 private:
  void count_time();
  std::string advice() const;

  const RunOptions& options_;
  std::string folder_;
  std::optional<FolderLock> lock_;                  // of the first rank
  const Parameters& parameters_;
  Optimizer& optimizer_;
  std::function<Json()> state_;
  Json loaded_;
  int64_t step_ = 0, batches_ = 0, report_rows_ = 0, first_step_ = 0, shown_tokens_ = 0;
  double seconds_ = 0, saved_ = now();
  std::optional<double> since_;                     // since when time is counted; none: it is not
  std::vector<double> loss_sums_, loss_counts_;
  std::unique_ptr<CsvFile> steps_, reports_;        // of the first rank
  std::unique_ptr<Progress> progress_;
};

}  // namespace minbert
