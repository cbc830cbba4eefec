// What the files of src/train share among themselves.
#pragma once

#include "minbert/optimizer.h"
#include "minbert/pretrainer.h"
#include "minbert/trainer.h"

namespace minbert {

// The folder itself, or a run's model/ in it. Error where neither has a config.json.
std::string model_folder(const std::string& folder);
// Fills the parameters from the folder's weights. before: its config.json. Errors: the weights have more layers than
// this says, or no head of a task that it lists.
WeightsReport load_all_layers(const std::string& folder, const BertConfig& before, const Parameters& parameters);
// What --cased says of a vocabulary: that it is cased, or nothing.
std::optional<bool> cased_option(bool cased);
// The vocabulary of a model's folder. Error where it has more tokens than its config.json says.
Tokenizer tokenizer_of(const std::string& folder, const BertConfig& config, std::optional<bool> cased);

std::vector<HeadSpec> heads_of(const std::vector<Task>& tasks);
// The model to train: new, or from --model. with_values false: the state of a run follows, which holds every value.
std::unique_ptr<Model> new_model(const Experiment& experiment, const Variant& variant, uint64_t seed,
                                 bool with_values);

// The loss of a task's head, by its kind. logits [B,outputs], labels [B] -> []
Tensor task_loss(const Task& task, const Tensor& logits, std::span<const double> labels);
// What a batch adds to its step's loss, which is a mean over all examples of the step: its own mean, times the share of
// them that it has. The whole step's loss is left as it is.
Tensor weighted(const Tensor& loss, double share);
// Appends what each row of logits says, for the next examples of data. Error for a logit that is no number.
void read_logits(const Task& task, const Dataset& data, const Tensor& logits, Predictions& predictions);

// Says what was loaded, what got initial values and what was left.
void print_report(std::ostream& out, const WeightsReport& report, const std::string& from);
// Says what becomes of weights that were trained with another placement, if they were. before: their config.json.
void print_placement(std::ostream& out, const std::string& folder, const BertConfig& before,
                     const std::string& placement);

// Where the model's [CLS] norm takes statistics from a set: the pass over the training set, without dropout
// [TA sec.4.2]. False: interrupted.
bool fit_cls_norm(MultitaskBert& network, const std::vector<TaskData>& data);

// A task's scores on some sets, predicted once each; where every prediction is the same, `warnings` say so.
TaskScores scores_on(std::span<const Dataset> sets, MultitaskBert& network, const Task& task,
                     std::ostream* warnings = nullptr);

// Examples `begin` and those behind it, as many as evaluation takes at a time.
std::vector<int32_t> evaluation_batch(const Dataset& data, size_t begin);

// What is no number any more, a weight, a statistic or a moment, must not take the place of the last good ones: Error,
// with this advice.
void check_finite(const Parameters& parameters, const Optimizer& optimizer, int64_t step, const std::string& advice);

// "0.5123 ± 0.0045": mean and standard deviation of one score over the runs. Shares are in percent, as the paper
// prints them. task, measure: its place among the tasks, and among the task's measures.
std::string score_cell(const std::vector<RunResult>& runs, const Scores RunResult::*part, Metric metric, size_t task,
                       size_t measure);
std::string score_name(const Task& task, const Measure& measure);             // "SST (accuracy, %)"

// FOLDER/figures/training: losses and dev scores of runs that have ended, of each variant the mean over its runs.
void write_training_figure(const std::string& folder, const Experiment& experiment,
                           const std::vector<VariantRuns>& variants);

// FOLDER/figures/pretraining: the MLM loss beside its yardsticks, and how many pairs were judged right.
void write_pretraining_figure(const PretrainOptions& options, const PretrainResult& result, bool held_out);

double now();                                       // seconds

// --save-every: when a run saves, wherever it stands.
class SaveClock {
 public:
  explicit SaveClock(double minutes) : minutes_(minutes) {}
  bool due() const { return minutes_ > 0 && now() - saved_ >= 60 * minutes_; }
  void saved() { saved_ = now(); }                  // after a save of any kind

 private:
  double minutes_, saved_ = now();
};

std::string fixed(double v, int digits);
std::string exact(double v);                        // a float's 9 digits, which read back as the same float

}  // namespace minbert
