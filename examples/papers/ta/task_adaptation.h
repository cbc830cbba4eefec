// The items of Efficient Task Adaptation with Normalization (Zhou), for build/bin/task_adaptation.
//
//   h^l [B,H]   the last hidden state of [CLS], before the pooler ("pre-pooler")
//   h [B,H]     tanh(W_f h^l + b_f), behind it ("pooled")
#pragma once

#include "papers/document.h"

namespace minbert {

struct TaskAdaptationOptions : DocumentOptions {
  std::string cls_norm_at = cls_place::pre_pooler;           // where the methods of tab.1 stand
  double lr = 3e-4;
  int batch = 32;
  std::vector<double> eps = {1e-5, 1e-3, 1e-2, 0.1, 1};                // of sec.5.2
  double perplexity = 30;                           // of fig.1
  int iterations = 1000, points = 4000;             // of fig.1
  int head_epochs = 20;                             // of sec.1's feature extraction
  double head_lr = 1e-2;
  bool large = false;                               // the model is BERT-large: H = 1024 or more
};

// A method of tab.1: a norm of [CLS], or gradient normalization of a strength (0: none).
struct TaMethod {
  const char *name, *cls_norm;
  double grad_norm;
};
inline const std::vector<TaMethod> ta_methods = {
    {"none", "none", 0},           {"z", "z", 0},
    {"min-max", "min-max", 0},     {"l2", "l2", 0},
    {"gradient-0.5", "none", 0.5}, {"gradient-1", "none", 1}};

// sec.1's feature extraction beside fine-tuning (examples/papers/ta/extraction.cpp)
Item ta_extraction_item(Document& document, const TaskAdaptationOptions& options);
// sec.3.1: the gradients of the last two layers (examples/papers/ta/gradients.cpp)
Item ta_gradients_item(Document& document, const TaskAdaptationOptions& options);
// fig.1: t-SNE and the clusters of h^l (examples/papers/ta/tsne.cpp)
Item ta_tsne_item(Document& document, const TaskAdaptationOptions& options);
// fig.2, eq.1, fig.3: mean, Fisher score and deviation of each dimension (examples/papers/ta/cls.cpp)
std::vector<Item> ta_cls_items(Document& document, const TaskAdaptationOptions& options);
// fig.4: where a step changes, drawn from the tape (examples/papers/ta/tape.cpp)
Item ta_tape_item(Document& document, const TaskAdaptationOptions& options);

// Fine-tuning by sec.5.1, and with a method; eps: of z and min-max.
constexpr double ta_eps = 1e-5;                     // ours; the document gives none
// The tasks of tab.2, MNLI and QNLI, or all others.
std::vector<Task> ta_tasks(const Document& document, bool tab2);
TrainOptions ta_options(const TaskAdaptationOptions& options);
Run ta_fine_tuning(Document& document, const TaskAdaptationOptions& options, const Task& task,
                   const TaMethod& method, int seed, double eps = ta_eps);
// tab.1, tab.2, sec.5.2 (examples/papers/ta/tuning.cpp)
std::vector<Item> ta_tuning_items(Document& document, const TaskAdaptationOptions& options);

// All of them, in the document's order
std::vector<Item> ta_items(Document& document, const TaskAdaptationOptions& options);

}  // namespace minbert
