// The items of Efficient Task Adaptation with Normalization (Zhou), for build/bin/task_adaptation.
//
//   h^l [B,H]   the last hidden state of [CLS], before the pooler ("pre-pooler")
//   h [B,H]     tanh(W_f h^l + b_f), after it ("pooled")
#pragma once

#include "papers/document.h"
#include "papers/statistics/resampling.h"

namespace minbert {

struct TaOptions : DocumentOptions {
  ClsPlace cls_norm_at = ClsPlace::pre_pooler;           // where the methods of tab.1 stand
  double lr = 3e-4;
  int batch = 32;
  Numbers eps = {1e-5, 0.1, 1};                     // of sec.5.2
  double perplexity = 30;                           // of fig.1
  int iterations = 1000, points = 4000;             // of fig.1
  int head_epochs = 20;                             // of sec.1's feature extraction
  double head_lr = 1e-2;
  bool large = false;                               // the model is BERT-large: H = 1024 or more
};

// A method of tab.1: a norm of [CLS], or gradient normalization of a strength (0: none).
struct TaMethod {
  const char *title, *cls_norm;
  double grad_norm;
  bool is_none() const { return std::string(title) == "none"; }
};
inline const std::vector<TaMethod> ta_methods = {
    {"none", "none", 0},           {"z", "z", 0},
    {"min-max", "min-max", 0},     {"l2", "l2", 0},
    {"gradient-0.5", "none", 0.5}, {"gradient-1", "none", 1}};

// of z and min-max; ours, the document gives none
constexpr double ta_eps = 1e-5;

// The document and the options of its program, which all items share.
struct TaRuns {
  Document& document;
  TaOptions o;
  // The tasks of tab.2, MNLI and QNLI, or all others.
  std::vector<Task> tasks(bool tab2) const;
  // Fine-tuning by sec.5.1, and with a method
  TrainOptions train_options() const;
  Run fine_tuning(const Task& task, const TaMethod& method, int seed, double eps = ta_eps) const;
  // "at h^l, before the pooler": where the methods stand
  std::string where_text() const;
};

// [CLS] after the embeddings and after every layer: [L+1] of [B,H] (extraction.cpp)
std::vector<Tensor> cls_of_layers(const BertModel& bert, const Batch& batch);
// sec.1's feature extraction beside fine-tuning (extraction.cpp)
Item ta_extraction_item(const TaRuns& ta);
// sec.3.1: the gradients of the last two layers (gradients.cpp)
Item ta_gradients_item(const TaRuns& ta);
// fig.1: t-SNE and the clusters of h^l (tsne.cpp)
Item ta_tsne_item(const TaRuns& ta);
// What fig.3 says of a task, of the Fisher score and the deviation of every dimension: its rank
// correlation, "small" deviations, and whether the largest are of important dimensions; `first` is the
// dimension that varies most in all rows. Nothing, where no score is finite.
Statistics deviation_statistics(const Numbers& score, const Numbers& sigma, size_t first);
// fig.2, eq.1, fig.3: mean, Fisher score and deviation of each dimension (cls.cpp)
std::vector<Item> ta_cls_items(const TaRuns& ta);
// fig.4: where a step changes, drawn from the tape (tape.cpp)
Item ta_tape_item(const TaRuns& ta);
// tab.1, tab.2, sec.5.2, learning (tuning.cpp)
std::vector<Item> ta_tuning_items(const TaRuns& ta);

// All of them
std::vector<Item> ta_items(Document& document, const TaOptions& options);

}  // namespace minbert
