// The items of Improving minBERT with Conditional Layer Normalization, for
// build/bin/conditional_layer_norm: the same network with LayerNorm and with conditional LayerNorm,
// trained on all tasks together, under the same seeds.
#pragma once

#include "papers/document.h"

namespace minbert {

struct ClnOptions : DocumentOptions {
  double lr = 3e-4, dropout = 0.1;
  int batch = 16;
  Sampling sampling = Sampling::sequential;         // the document's: all of a task, then the next
  ClnOptions();
};

inline const Names cln_norms = {"layer", "conditional-layer"};

struct ClnRuns {
  Document& document;
  ClnOptions o;

  const std::vector<Task>& tasks() const { return document.tasks(); }
  // The result, for every TASK: {TASK: {train, dev: scores, null: undefined; sound: does it give
  // different inputs different answers?; kept: see Forgetting}}; epochs: {column: [values]} of
  // epochs.csv; gains: [{norm, task, gamma, beta, gamma_up, beta_up}]
  Run training(const std::string& norm, int seed) const;
  Json result(const std::string& norm, int seed) const {
    return document.result(training(norm, seed));
  }
  std::vector<Run> all() const;
};

// train test gains epochs forgetting
std::vector<Item> cln_items(Document& document, const ClnOptions& options);

}  // namespace minbert
