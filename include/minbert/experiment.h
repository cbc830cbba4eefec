// From options to data and model: what the runs of one experiment share, and a trained model opened
// for use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "minbert/checkpoint.h"
#include "minbert/dataset.h"
#include "minbert/task.h"
#include "minbert/tokenizer.h"
#include "minbert/train_options.h"

namespace minbert {

// One task's data, read and tokenized.
struct TaskData {
  Task task;
  Dataset train;
  // Of each of the task's sets; those of test may be empty
  std::vector<Dataset> dev, test;
};

// What runs share that learn the same tasks: tokenizer and data, read once.
class Experiment {
 public:
  // more: options of other runs, which are checked, too, before data is read.
  // Errors: options that contradict each other; a task that does not exist; a model, a vocabulary
  // or a data set that cannot be read or is damaged.
  explicit Experiment(const TrainOptions& options, const std::vector<TrainOptions>& more = {});
  const TrainOptions& options() const { return options_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const std::vector<TaskData>& data() const { return data_; }
  // Of a run's model; the run's options may differ from the experiment's, but for those of the data
  // and of --model. Its tasks are those --model has, in that order, then the run's new ones; from
  // scratch, the run's alone. A task that is not the run's rests: its head and its rows of task
  // parameters stay as they are.
  BertConfig config(const TrainOptions& run) const;

 private:
  void check_run(const TrainOptions& run) const;
  TrainOptions options_;
  std::optional<Tokenizer> tokenizer_;
  BertConfig config_;                               // --model's, or --config
  std::vector<TaskData> data_;
};

// The model to train: new, or from --model. with_values false: the state of a run follows, which
// holds every value.
std::unique_ptr<Model> new_model(const Experiment& experiment, const TrainOptions& run,
                                 bool with_values);

// A trained model's folder (runs/NAME, or runs/NAME/model) opened for use: predict and encode need
// no more.
struct TrainedModel {
  explicit TrainedModel(const std::string& folder, std::optional<bool> cased = {});
  DatasetOptions dataset_options() const;           // as its training data was read
  const Task& task(const std::string& name) const;  // Error lists the tasks it was trained on
  BertConfig config;
  Tokenizer tokenizer;
  std::vector<Task> tasks;                          // the t-th has task id t
  Model model;
  std::string folder;
};

}  // namespace minbert
