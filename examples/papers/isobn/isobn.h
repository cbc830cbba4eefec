// The items of IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization (Zhou, Lin & Ren), for
// build/bin/isotropy.
#pragma once

#include <algorithm>

#include "papers/document.h"

namespace minbert {

struct IsoBnOptions : DocumentOptions {
  ClsPlace cls_norm_at = ClsPlace::pooled;        // or pre_pooler: which [CLS]
  Numbers lr = {3e-4}, batch = {16}, beta = {0.5};       // of tab.1
};

// The pass over a task's training set [IsoBN sec.2.1] [IsoBN sec.2.2], in cls_pass.cpp. Writes rho [H,H]
// into FOLDER/correlation.safetensors. The result:
//   std [H]           the deviation of each dimension of [CLS]
//   ev                by transformation (tab.2, eq.3, eq.5, alg.1): EV_k [H] of [CLS] after it
//   samples           what claims are judged by, of the rows drawn again (papers/statistics/resampling.h):
//                     "between .01 and 1" and "in the largest cluster" (shares of the dimensions), the medians
//                     of eq.5's scale, and "none EV_1", ..., "iso-bn EV_3", "none EV" (the mean over fig.4's k)
//   order, cluster    [H] of average_linkage(rho, .2)
//   largest_class     the share of the rows that are of the most frequent class; null for a regression
// Errors: one sentence; a model whose pooler has no weights, if [CLS] is wanted after it.
Json cls_result(const IsoBnOptions& options, const Task& task, const std::string& folder);
// fig.4 shows EV_k of so many k.
inline size_t most_k(size_t H) { return std::min(H, size_t(H > 768 ? 200 : 50)); }
// The run of this pass, and its options: of a model without a pooler, [CLS] is that before it.
// (examples/papers/isobn/cls.cpp)
IsoBnOptions with_place(IsoBnOptions options);
Run cls_run(Document& document, const IsoBnOptions& options, const Task& task);

// The tasks that --tasks names, else the document's four: MRPC, RTE, CoLA, STS-B.
std::vector<Task> studied_tasks(const Document& document, const IsoBnOptions& options);
// fig1 fig2 fig3 eq3 eq5 alg1 tab2 fig4: of [CLS] of the pre-trained encoder over the training sets
// of studied_tasks. They follow from its mean and covariance, which one pass gives; alg1's statistics
// move with the batches of this pass. (examples/papers/isobn/cls.cpp)
std::vector<Item> isobn_cls_items(Document& document, const IsoBnOptions& options);
// sec3.3, tab1 and learning: fine-tuning. (examples/papers/isobn/tuning.cpp)
std::vector<Item> isobn_tuning_items(Document& document, const IsoBnOptions& options);

}  // namespace minbert
