// Fine-tuning a multitask BERT: from options to data and model, training, and scores.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "minbert/checkpoint.h"
#include "minbert/dataset.h"
#include "minbert/metrics.h"
#include "minbert/model.h"
#include "minbert/observer.h"
#include "minbert/options.h"
#include "minbert/task.h"
#include "minbert/tokenizer.h"

namespace minbert {

// ---- What the runs of one experiment share, and a trained model opened for use

// One task's data, read and tokenized.
struct TaskData {
  Task task;
  Dataset train;
  // One data set for each of the task's sets; in `test` it may be empty
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
  // The files that it read, by option and name, with size and fingerprint: src/train/sources.h
  const Json& sources() const { return sources_; }
  // The configuration of a run's model. `run` may differ from options() in all but the data and the
  // model. Its tasks are the model's, in that order, then the run's new ones; from scratch, the
  // run's alone. Tasks of the model that `run` does not name keep their head and their rows of task
  // parameters as they are.
  BertConfig config(const TrainOptions& run) const;

 private:
  void check_run(const TrainOptions& run) const;
  TrainOptions options_;
  Json sources_;
  std::optional<Tokenizer> tokenizer_;
  BertConfig config_;                               // --model's, or --config
  std::vector<TaskData> data_;
};

// The model to train: new, or from --model. with_values false: the values stay unset, and a
// run's state fills them.
std::unique_ptr<Model> new_model(const Experiment& experiment, const TrainOptions& run,
                                 bool with_values);

// A trained model's folder (runs/NAME, or runs/NAME/model) opened for use: predict and encode need
// no more.
struct TrainedModel {
  // Error: weights are missing, and not only those of the pooler.
  explicit TrainedModel(const std::string& folder);
  DatasetOptions dataset_options() const;           // as its training data was read
  // Error lists the tasks it was trained on. "": its only one. Error for a head that says nothing
  // (it reads from a pooler without weights), or other things than a task of ours.
  const Task& task(const std::string& name) const;
  bool has_pooler() const { return weights.initialised.empty(); }
  BertConfig config;
  Tokenizer tokenizer;
  std::vector<Task> tasks;                          // the t-th has task id t
  Model model;
  std::string folder;
  WeightsReport weights;
};

// ---- Passes over data without gradients and without dropout

// The scores of one model, of each task.
using Scores = std::vector<TaskScores>;

// The network's predictions for every example of data; sets the network to evaluation. Errors: a
// task that the network has no head for; a logit that is not finite. Throws Interrupted.
Predictions predict(MultitaskBert& network, const Task& task, const Dataset& data);
// The scores of these predictions against the labels of data, one for each metric of the task.
TaskScores scores(const Task& task, const Dataset& data, const Predictions& predictions);

// The same on some sets: a task's dev sets.
using SetPredictions = std::vector<Predictions>;
SetPredictions predict(MultitaskBert& network, const Task& task, std::span<const Dataset> sets);
// A task's scores; where every prediction for a set is the same, `warnings` say so.
TaskScores scores(const Task& task, std::span<const Dataset> sets, const SetPredictions& predicted,
                  std::ostream* warnings = nullptr);
TaskScores scores_on(std::span<const Dataset> sets, MultitaskBert& network, const Task& task,
                     std::ostream* warnings = nullptr);

// Dev scores of the model in the folder.
Scores evaluate(const Experiment& experiment, const std::string& folder);

// The pass over the training set in which a norm of [CLS] takes its statistics, once, before the
// first step [TA sec.4.2]; nothing to do for norms that need no set. Throws Interrupted.
void fit_cls_norm(MultitaskBert& network, const std::vector<TaskData>& data);

// ---- Training

struct RunResult {
  // Scores on the training sets, of the best epoch; empty unless score_training
  Scores train;
  // Scores on the dev sets, of the best epoch
  Scores dev;
  // Predictions for each task's dev sets, of the best epoch
  std::vector<SetPredictions> predictions = {};
  // The epoch, from 0 (run.json counts from 1); -1: none yet
  int64_t best_epoch = -1;
  // Optimizer steps
  int64_t steps = 0;
  // The Euclidean norm of the first step's gradient
  double first_gradient = 0;
  // Numbers in the model
  int64_t parameters = 0;
  // Numbers that are trained
  int64_t trained = 0;
  // Seconds of training
  double seconds = 0;
  // Stopped before its end, with its state saved
  bool interrupted = false;
};

// One training run in the folder, new or resumed. stop_after: stop (and save) after so many
// optimizer steps; 0: never. score_training: score the best model on the training set, too. Errors:
// a state in the folder that does not fit the model or the data; a loss, a weight or a moment that
// is not finite; a full disk.
RunResult train(const Experiment& experiment, const TrainOptions& options,
                const std::string& folder, int64_t stop_after = 0, bool score_training = false,
                Observer* observer = nullptr);

}  // namespace minbert
