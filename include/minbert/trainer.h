// Training a multitask BERT: data, model, loop, evaluation, comparison of variants.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "minbert/bert.h"
#include "minbert/metrics.h"
#include "minbert/tokenizer.h"
#include "minbert/train_options.h"

namespace minbert {

// One task's data, read and tokenized.
struct TaskData {
  Task task;
  Dataset train;
  std::vector<Dataset> dev, test;                   // of each of the task's sets; those of test may be empty
};

// The scores of one model, of each task.
using Scores = std::vector<TaskScores>;

// What may differ between runs that are compared; all else, the seeds included, is the same.
struct Variant {
  std::string label;                                // in tables and figures, and the name of its folder
  std::string norm, placement = "post", cls_norm = "none";
  double grad_norm = 0;                             // strength of gradient normalization; 0: none
  bool from_scratch = false;                        // new weights, of --model's sizes
};

// Everything that does not change from run to run: tokenizer, configuration, data.
class Experiment {
 public:
  explicit Experiment(const TrainOptions& options);
  const TrainOptions& options() const { return options_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const std::vector<TaskData>& data() const { return data_; }
  // Of the model to train. Its tasks are those --model has, in that order, then the run's new ones; from scratch, the
  // run's alone. A task that is not the run's rests: its head and its rows of task parameters stay as they are.
  BertConfig config(const Variant& variant) const;
  std::vector<HeadSpec> heads(const Variant& variant) const;

 private:
  TrainOptions options_;
  std::optional<Tokenizer> tokenizer_;
  BertConfig config_;                               // its tasks: those of --model alone
  std::vector<TaskData> data_;
};

// A model with its parameters, new or from a checkpoint.
struct Model {
  Model(const BertConfig& config, const std::vector<HeadSpec>& heads, double head_dropout, uint64_t seed,
        bool initialise);                           // false: load_weights follows
  MultitaskBert network;
  Parameters parameters;
};

// A trained model's folder (runs/NAME, or runs/NAME/model) opened for use: predict and encode need no more.
struct TrainedModel {
  explicit TrainedModel(const std::string& folder, std::optional<bool> cased = {});
  DatasetOptions dataset_options() const;           // as its training data was read
  const Task& task(const std::string& name) const;  // Error lists the tasks it was trained on
  BertConfig config;
  Tokenizer tokenizer;
  std::vector<Task> tasks;                          // the t-th has task id t
  Model model;
};

// What the model says of each example: the class, 0 or 1, or the similarity; and how probable it holds it.
struct Predictions {
  std::vector<double> values, probabilities;        // probabilities: 1 for a similarity
};
Predictions predict(MultitaskBert& network, const Task& task, const Dataset& data);
TaskScores scores(const Task& task, const Dataset& data, const Predictions& predictions);

// The variants that the options ask for: one, or with --compare layer and conditional-layer, and with --from-scratch
// beside it conditional-layer from scratch.
std::vector<Variant> variants_of(const TrainOptions& options);

struct RunResult {
  Scores train, dev;                                // of the best model; train: where it was asked for
  int64_t best_epoch = -1, steps = 0;
  double first_gradient = 0;                        // the norm of the first step's gradient
  double seconds = 0;                               // of training
  bool interrupted = false;
};

// One training run in the folder. stop_after: stop (and save) after so many optimizer steps; 0: never. score_training:
// score the best model on the training set, too.
RunResult train(const Experiment& experiment, const Variant& variant, uint64_t seed, const std::string& folder,
                int64_t stop_after = 0, bool score_training = false);

// Ctrl-C (or the end of the terminal, or of the pipe that reads the output) asks a run to stop and save after
// the step at work; a second Ctrl-C ends the program at once.
void watch_for_interrupt();
bool interrupted();

// Dev scores of the model in the folder.
Scores evaluate(const Experiment& experiment, const std::string& folder);

// What the model in the folder says of the first dev examples of each task, in words, beside their labels.
void print_in_words(const Experiment& experiment, const std::string& folder);

// A variant's runs, one a seed.
struct VariantRuns {
  Variant variant;
  std::vector<std::string> folders;                 // OUT/LABEL/seed-S
  std::vector<RunResult> results;
};
// Every seed with every variant. None where they were interrupted.
std::optional<std::vector<VariantRuns>> run_all(const Experiment& experiment, const std::vector<Variant>& variants,
                                                bool score_training);

// --compare, --seeds: runs them all, prints mean and standard deviation as the paper's tables and draws all runs.
// Returns the exit status.
int compare(const Experiment& experiment, const std::vector<Variant>& variants);

// Norms side by side, a line each: dev scores, the steps until the first task's loss falls below to_loss, the first
// gradient, the time of a step; and their loss curves, drawn. Returns the exit status.
struct NormLists {
  std::vector<std::string> norms, placements, cls_norms;
  std::vector<double> grad_norms;
};
std::vector<Variant> norm_variants(const NormLists& lists, bool from_scratch);    // every one with every other
int compare_norms(const Experiment& experiment, const std::vector<Variant>& variants, double to_loss);

}  // namespace minbert
