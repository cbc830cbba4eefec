// The items of Improving minBERT with Conditional Layer Normalization, for
// build/bin/conditional_layer_norm: the same network with LayerNorm and with conditional LayerNorm,
// trained on all tasks together, under the same seeds; and, ours, whether γ_t and β_t are used, and
// what they do at a rate of their own.
#pragma once

#include "papers/document.h"

namespace minbert {

struct ClnOptions : DocumentOptions {
  double lr = 3e-4, dropout = 0.1, warmup = 0.1;
  int batch = 16;
  Schedule schedule = Schedule::linear;
  Sampling sampling = Sampling::sequential;         // the document's: all of a task, then the next
  std::vector<double> factors = {1, 3, 10, 30, 100};    // on the rate of γ_t and β_t
  ClnOptions();
};

inline const Names cln_norms = {"layer", "conditional-layer"};

// Of scores and their differences: a point is .01
inline const Unit points{100, 2, "points"};

// In what a training is not that of LayerNorm in the study's own settings.
struct ClnTraining {
  std::string name, norm;                           // name: of its runs; "" is the study's own
  std::string rate = {};                            // TrainOptions::rate
  Sampling sampling = Sampling::sequential;
  int epochs = 0;
};

struct ClnRuns {
  Document& document;
  ClnOptions o;

  const std::vector<Task>& tasks() const { return document.tasks(); }
  TrainOptions options_of(const ClnTraining& training, int seed) const;
  ClnTraining of_norm(const std::string& norm) const { return {"", norm, "", o.sampling, o.epochs}; }
  // The result: epoch, the best by its mean dev score; for every TASK {dev: dev_scores}. One of the study's own has
  // more: TASK's train; gains: [{norm, task, gamma, beta, gamma_up, beta_up}]; switch: see switched.
  Run training(const ClnTraining& training, int seed) const;
  Run training(const std::string& norm, int seed) const { return training(of_norm(norm), seed); }
  Json result(const std::string& norm, int seed) const { return document.result(training(norm, seed)); }
  std::vector<Run> all() const;
  // A task rests, and comes back
  bool forgets() const { return o.epochs > 1 && o.sampling == Sampling::sequential; }
};

// What a task loses to the others, in the run in FOLDER: its loss over the last tenth of its batches in an epoch, and
// over the first tenth in the next one. Averaged over the epochs (at least 2). The task is not trained between the two
// [CLN forgetting].
struct Kept {
  double before, after;
};
Kept kept_of(const std::string& folder, const Task& task, int epochs);

// The scores of a trained model with λγ_t and λβ_t in place of γ_t and β_t, with another task's, and with none of one
// norm's, on at most 1,000 rows of each dev set [CLN switch]: [{what: "λ", "another task's" or "without", at: λ, or
// which norm, TASK: dev_scores}]. The model's values are afterwards as before.
Json switched(TrainedModel& trained, const std::vector<TaskData>& data);

// All of the document's items: train test gains epochs forgetting, and those below; learning is of the same trainings
std::vector<Item> cln_items(Document& document, const ClnOptions& options);
Item switch_item(const ClnRuns& runs);
Item learning_item(const ClnRuns& runs);
std::vector<Item> rate_items(const ClnRuns& runs);  // rate controls turns order
Item readings_item(const ClnRuns& runs);

}  // namespace minbert
