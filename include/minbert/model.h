// A BERT with the heads of tasks: their shapes, their losses, and what their outputs say.
#pragma once

#include <span>
#include <vector>

#include "minbert/bert.h"
#include "minbert/checkpoint.h"
#include "minbert/dataset.h"
#include "minbert/task.h"

namespace minbert {

// The shape of each task's head, in the tasks' order.
std::vector<HeadSpec> heads_of(const std::vector<Task>& tasks);

// The tasks that a model was trained on. A classifier from elsewhere has one, foreign_task, made of
// its labels; it has no files. Errors: a name that config.json does not describe and that is not in
// the table of tasks; labels that are not those of config.json.
std::vector<Task> tasks_of(const BertConfig& config);
// Puts the tasks' fields into the configuration. Error for one that the model has with other
// labels, another kind or another number of texts.
void describe(BertConfig& config, const std::vector<Task>& tasks);
// What config.json says of the head of a model's only task. Quora's single logit is one label,
// "multi_label_classification": its probability is the logit's sigmoid.
ClassifierHead classifier_of(const Task& task, double dropout);
// The saved heads that a run on `tasks` keeps: all. Of a classifier from elsewhere the head is
// kept as that of the run's only task, if its labels are the task's, in any order and case, or
// LABEL_0, LABEL_1, ...; otherwise it is dropped.
std::vector<std::string> heads_for(const BertConfig& saved, const std::vector<Task>& tasks);
// Says on stderr what makes `now` another network than the saved one, and the option that keeps it.
// trained: the saved one has weights.
void say_what_changes(const std::string& source, const BertConfig& saved, const BertConfig& now,
                      bool trained = true);
// Fills the parameters from the model or run in the folder `source`, whose configuration is
// `saved`, with these heads for the tasks, if there are any. stderr says what was loaded, what
// stays behind, and what makes `now`, the model's configuration, another function.
void load_start(const std::string& source, const BertConfig& saved, const std::vector<Task>& tasks,
                const BertConfig& now, const Parameters& parameters);

struct FineTuneOptions {
  // The seed of the heads' first values
  uint64_t seed = 0;
  // Dropout before the heads, 0 to below 1
  double head_dropout = 0;
};

// A BERT with a head for each task.
struct Model : WithParameters<MultitaskBert> {
  // Model(config, seed, initialise, heads, head_dropout)
  using WithParameters::WithParameters;
  // The model of a Hugging Face folder or a run, to be fine-tuned on these tasks; a head that its
  // weights lack is new. Errors: those of load_weights.
  static Model from_pretrained(const std::string& folder, const std::vector<Task>& tasks,
                               const FineTuneOptions& options = {});

 private:
  Model(const std::string& folder, const BertConfig& saved, const std::vector<Task>& tasks,
        const FineTuneOptions& options);
};

// The loss of a task's head, by its kind [CLN losses].        logits [B,outputs], labels [B] -> []
Tensor task_loss(const Task& task, const Tensor& logits, std::span<const double> labels);

// The predictions for N examples.
struct Predictions {
  std::vector<double> values;                       // [N] class, 0 or 1, or similarity
  std::vector<double> logits;                       // [N,outputs]
  std::span<const double> row(size_t i) const {
    const size_t outputs = logits.size() / values.size();
    return std::span(logits).subspan(i * outputs, outputs);
  }
};
// How probable each label is by these logits of one example: their softmax; of a single one
// (1-σ, σ); of a similarity none.
std::vector<double> probabilities(TaskKind kind, std::span<const double> logits);
// Appends the prediction of each row of logits, for the next examples of the file. Error for a
// logit that is not finite: names file and example.
void read_logits(const Task& task, const std::string& file, const Tensor& logits,
                 Predictions& predictions);

}  // namespace minbert
