// What stands around the steps of every training run: its tables and its progress line, checks, saving, going on.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/text.h"
#include "loss_reader.h"
#include "minbert/progress.h"
#include "minbert/train_options.h"
#include "run_folder.h"

namespace minbert {

inline double now() {                               // seconds
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// --save-every: when a run saves, wherever it stands.
class SaveClock {
 public:
  explicit SaveClock(double minutes) : minutes_(minutes) {}
  bool due() const { return minutes_ > 0 && now() - saved_ >= 60 * minutes_; }
  void saved() { saved_ = now(); }                  // after a save of any kind

 private:
  double minutes_, saved_ = now();
};

// A progress line with the loss and the tokens a second since the last one.
class TrainingProgress : public Progress {
 public:
  TrainingProgress(int64_t total, int64_t done) : Progress("", total, Where::log, done) {}
  void update(const std::string& what, double loss, int64_t tokens, int64_t done) {     // after every step
    tokens_ += tokens;
    if (!due()) return;
    show(done, format("{}  loss {}  {} tokens/s", what, fixed(loss, 4), fixed(double(tokens_) / since_shown(), 0)));
    tokens_ = 0;
  }

 private:
  int64_t tokens_ = 0;
};

class RunLog {
 public:
  // Makes the folder, or goes on with the state in it: parameters and optimizer get its values. losses: how many kinds
  // of losses a run sums. state: what the loop itself must keep to go on.
  RunLog(const RunOptions& options, const std::string& folder, const Parameters& parameters, Optimizer& optimizer,
         size_t losses, std::function<Json()> state);

  const Json& loaded() const { return loaded_; }    // the loop's state that was saved; null in a new run
  int64_t step() const { return step_; }            // optimizer steps taken
  int64_t batches() const { return batches_; }      // seen: the clock of the dropout masks
  double seconds() const { return seconds_; }       // of training, over all starts of the program

  // Opens steps.csv, with a row a batch, and the table of reports, which has so many rows so far.
  void open(const std::string& step_columns, const std::string& reports, const std::string& report_columns,
            int64_t rows);
  void keeps(const std::string& model) { kept_ = model; }        // what model/ holds, for messages
  // Begins to count time and this start's steps. seed: of the dropout masks, which go on with the batches seen so far.
  void start(int64_t all_batches, uint64_t seed);

  struct BatchEntry {
    std::string name = {};                          // of the task, if there are several
    size_t first_sum = 0;                           // where its losses are summed
    double learning_rate;
    int64_t tokens;
    std::string progress;                           // "epoch 1/3  sst"
    std::function<std::string()> place;             // for a message, should a loss not be finite: "step 10"
  };
  void add(const std::vector<Tensor>& losses, const BatchEntry& entry);          // after every batch
  void end_step() { ++step_; }
  double mean_loss(size_t sum) const;               // since the last report; flush() first
  void flush() { losses_.flush(); }

  void pause();                                     // evaluation is not counted; until the next save
  // Prints the line and adds the row, if there is one, with the seconds behind it. Sums begin anew.
  void report(const std::string& line, const std::string& row);
  void check() const;                               // Error for a weight, statistic or moment that is not finite
  void save();
  void save_if_due();                               // --save-every
  bool must_stop(int64_t stop_after) const;         // Ctrl-C, or so many steps of this start; 0: no limit
  void stop();                                      // saves and says how to go on
  void finish() { progress_->finish(); }

 private:
  std::string advice() const;

  const RunOptions& options_;
  std::string folder_, kept_ = "the initial model";
  const Parameters& parameters_;
  Optimizer& optimizer_;
  std::function<Json()> state_;
  Json loaded_;
  int64_t step_ = 0, batches_ = 0, first_step_ = 0;
  double seconds_ = 0;
  std::optional<double> since_;                     // since when time is counted; none: it is not
  std::vector<double> loss_sums_, loss_counts_;
  LossReader losses_;
  SaveClock clock_;
  std::unique_ptr<CsvFile> steps_, reports_;
  std::unique_ptr<TrainingProgress> progress_;
};

}  // namespace minbert
