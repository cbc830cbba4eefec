// The claims of an item, each with its verdict, or with the reason why it has none.
#pragma once

#include <optional>

#include "report/paper.h"
#include "report/verdict.h"

namespace minbert {

// What is judged, and why a claim may be judged by nothing.
struct Judging {
  bool was_run, judges, generated;                  // judges: false of a quick look; generated: the data
  bool pretrained;                                  // the model has a head of pre-training
  std::string model;                                // the document's that ours stands for
  Names differences;                                // from the document's model and data
};

// Of each claim of the item: where, text, kind, verdict, why, pairs, by_chance (report.h). evidence: none: its values
// were not computed. Members of a claim in data/papers/FILE.json beside those of claim_of (verdict.h):
//   random           "seed" or "rows": what its values were drawn anew of, which they must say; missing: nothing
//   real             it is about a data set or a model by name: generated ones say nothing of it
//   pretrained       it is about a pre-trained model's [CLS]
//   model            it is about this model of the document's alone
//   why              why no number of the page decides it; word: the verdict, else "not comparable"
//   absolute         it is about a value, not about a difference, so it needs the document's model and data
//   unit             [factor, digits, name], if it is not that of the item's other values
Json judged_claims(const PaperItem& item, const Judging& judging, const std::optional<Evidence>& evidence);

}  // namespace minbert
