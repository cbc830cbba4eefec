// What stands around the steps of every training run: its tables and its progress line, checks, saving, going on.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/clock.h"
#include "engine/text.h"
#include "files/progress.h"
#include "run_folder.h"
#include "shards.h"
#include "train/command_line.h"

namespace minbert {

// --save-every: whether a run saves wherever it stands, so many seconds after its last save.
inline bool save_is_due(double minutes, double seconds) { return minutes > 0 && seconds >= 60 * minutes; }

class RunLog {
 public:
  // Makes the folder, or goes on with the state in it: parameters and optimizer get its values. losses: how many
  // different losses the run has. state: what the loop itself must keep to go on. While it lives: --profile.
  RunLog(const RunOptions& options, const std::string& folder, const Parameters& parameters, Optimizer& optimizer,
         size_t losses, std::function<Json()> state);
  ~RunLog();

  const Json& loaded() const { return loaded_; }    // the loop's state that was saved; null in a new run
  // A number of that state. Error if it is below 0 or above `most`: the file is damaged.
  int64_t count(const std::string& key, int64_t most = std::numeric_limits<int64_t>::max()) const;
  int64_t step() const { return step_; }            // optimizer steps taken
  int64_t batches() const { return batches_; }      // seen: the clock of the dropout masks
  double seconds() const { return seconds_; }       // of training, over all starts of the program
  void keeps(const std::string& what) { kept_ = what; }          // what model/ holds, for advice

  // Both tables go on behind the rows that the state counts. rows: those of the table of reports.
  void open(const std::string& step_columns, const std::string& reports, const std::string& report_columns,
            int64_t rows);
  void start(int64_t all_batches);                  // the first step follows
  bool save_is_due() const { return minbert::save_is_due(options_.save_every, now() - saved_); }
  // To be called before each step. Saves if that is due. False if interrupted, or after `stop_after`
  // steps of this start (0: no limit): the run is saved, and a line says how to go on.
  bool goes_on(int64_t stop_after, const Shards& shards);
  void say_stopped() const;                         // and how to go on

  // What is said of a batch. The losses of a GPU are read together, every 20 batches, so that no step waits for one.
  struct BatchEntry {
    std::string name = {};                          // of the task; pre-training has none
    size_t first_sum = 0;                           // which of the run's losses it begins with
    std::vector<double> counts;                     // of each loss: it is a mean over so many rows, or masked words
    double learning_rate;
    int64_t tokens;
    std::string progress;                           // "epoch 1/3  sst"
    std::string place;                              // for a message, should a loss not be finite: "step 10"
  };
  void add(const std::vector<Tensor>& losses, const BatchEntry& entry);          // after every batch
  void end_step() { ++step_; }

  // Time from here to save() is not counted as training. Error for a weight, statistic or moment that
  // is not finite, or not the same on all ranks.
  void pause();
  double mean_loss(size_t sum) const;               // over all rows, or masked words, since the last report
  // Prints the line and adds the row, if there is one, with the seconds behind it. Sums begin anew.
  void report(const std::string& line, const std::string& row);
  void save();

 private:
  struct Waiting {                                  // a batch whose losses have not been read
    BatchEntry entry;
    std::vector<Tensor> losses;
    int64_t step, batch;                            // its numbers, from 1
    double seconds;
  };
  void count_time();
  void flush();
  void read(const Waiting& batch);
  void warn_of_growth(const Waiting& batch, size_t sum, double loss);
  std::string advice() const;

  const RunOptions& options_;
  std::string folder_, kept_ = "the initial model";
  const Parameters& parameters_;
  Optimizer& optimizer_;
  std::function<Json()> state_;
  Json loaded_;
  int64_t step_ = 0, batches_ = 0, first_step_ = 0;
  double seconds_ = 0, saved_ = now();
  std::optional<double> since_;                     // since when time is counted; none: it is not
  std::vector<double> loss_sums_, loss_counts_;
  std::vector<std::optional<double>> first_losses_;           // of this start
  bool warned_ = false;
  std::vector<Waiting> waiting_;
  int64_t shown_tokens_ = 0;
  std::unique_ptr<CsvFile> steps_, reports_;        // of the first rank
  std::unique_ptr<Progress> progress_;
};

}  // namespace minbert
