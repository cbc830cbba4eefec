// The items of IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization (Zhou, Lin & Ren), for
// build/bin/isotropy.
#pragma once

#include "papers/document.h"

namespace minbert {

struct IsoBnOptions : DocumentOptions {
  std::string cls_norm_at = cls_place::pooled;    // or pre_pooler: which [CLS]
  Numbers lr = {3e-4}, batch = {16}, beta = {0.5};       // of tab.1
};

// The pass over a task's training set [IsoBN sec.2.1] [IsoBN sec.2.2], in measure.cpp. In the
// result: rows; std [H]; ev, for each transformation of tab.2, eq.3, eq.5 and alg.1 its EV_k [H];
// order and cluster [H] of average_linkage(rho, .2); alike, the number of dimensions with 2 or more
// others above |rho| = .8. In the folder: correlation.safetensors with rho [H,H]. Errors: one
// sentence; a model whose pooler has no weights, if [CLS] is wanted after it.
Json measure_cls(const IsoBnOptions& options, const Task& task, const std::string& folder);

// fig1 fig2 fig3 eq3 eq5 alg1 tab2 fig4: of [CLS] of the pre-trained encoder over the training set.
// They follow from its mean and covariance, which one pass gives; alg1's statistics move with the
// batches of this pass. Of the tasks that --tasks names, else of the document's four.
// (examples/papers/isobn/cls.cpp)
std::vector<Item> isobn_cls_items(Document& document, const IsoBnOptions& options);
// tab1: fine-tuning. (examples/papers/isobn/tuning.cpp)
Item isobn_tuning_item(Document& document, const IsoBnOptions& options);

}  // namespace minbert
