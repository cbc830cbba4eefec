// What every training run does around its steps: tables and progress line, checks, saving, going
// on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/clock.h"
#include "engine/text.h"
#include "files/lock.h"
#include "files/progress.h"
#include "minbert/observer.h"
#include "train/cli/command_line.h"
#include "train/run_folder.h"
#include "train/shards.h"

namespace minbert {

class RunLog {
 public:
  // The numbers that the loop itself must keep to go on: they are saved, and set from a saved state
  using State = std::map<std::string, std::variant<int64_t*, double*>>;
  // Makes the folder, or goes on with the state in it: parameters, optimizer and `state` get its
  // values. losses: how many a batch has; all_losses: how many different ones the run has. sources:
  // what it reads (src/train/sources.h). While it lives: --profile.
  RunLog(const RunOptions& options, const std::string& folder, const Parameters& parameters,
         size_t losses, size_t all_losses, const Json& sources, const State& state);
  ~RunLog();

  Shards shards;
  Optimizer optimizer;
  int64_t step() const { return step_; }            // optimizer steps taken
  int64_t batches() const { return batches_; }      // seen: the clock of the dropout masks
  double seconds() const { return seconds_; }       // of training, over all starts of the program

  // Runs the loop until it ends or is interrupted; is it interrupted? Then it is saved, unless it
  // is done. Where a file has changed, too, for a run of one rank: others may be about to learn.
  bool run(const std::function<void()>& loop, const std::function<bool()>& done);
  // The first step follows. Both tables, of steps and of reports, go on after the rows that the
  // state counts. batches, steps: of the whole run; rate: the learning rate, before its schedule.
  struct Plan {
    int64_t batches, steps;
    double rate;
    std::string step_columns, reports, report_columns;
  };
  void start(const Plan& plan);
  bool save_is_due() const {
    return options_.save_every > 0 && now() - saved_ >= 60 * options_.save_every;
  }
  // Of a recorded step: before its first forward, with its task, and after the first backward.
  void show_step(Observer* observer, const std::string& task, Module& network);
  void show_gradients();
  // To be called before each step. Saves if that is due. Throws Interrupted if the run is to stop,
  // as after `stop_after` steps of this start (0: no limit).
  void before_step(int64_t stop_after);

  // A batch whose losses are logged
  struct BatchEntry {
    std::string name = {};                          // of the task; pre-training has none
    size_t first_sum = 0;                           // which of the run's losses it begins with
    // counts[i]: how many rows, or masked words, loss i is the mean of
    std::vector<double> counts;
    int64_t tokens;
    std::string progress;                           // "epoch 1/3  sst"
    std::string where;                              // "step 10", should a loss not be finite
  };
  // Logs a batch; called after every one.
  void add(std::span<const double> losses, const BatchEntry& entry);
  double learning_rate() const;                     // of the next step, by its schedule
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
  void stop(bool is_to_save);                       // says how to go on
  void count_time();
  std::string advice() const;

  const RunOptions& options_;
  std::string folder_;
  std::optional<FolderLock> lock_;                  // of the first rank
  const Parameters& parameters_;
  Observer* observer_ = nullptr;                    // from show_step to show_gradients
  Json sources_;
  State state_;
  Plan plan_;
  int64_t step_ = 0, batches_ = 0, report_rows_ = 0, first_step_ = 0, shown_tokens_ = 0;
  double seconds_ = 0, saved_ = now();
  std::optional<double> since_;                     // since when time is counted; none: it is not
  std::vector<double> loss_sums_, loss_counts_;
  std::unique_ptr<CsvFile> steps_, reports_;        // of the first rank
  std::unique_ptr<Progress> progress_;
};

}  // namespace minbert
