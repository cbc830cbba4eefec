// Regression on bags of word pieces, logistic for classes and linear for a similarity: the
// yardstick for networks that read word order.
#pragma once

#include "minbert/metrics.h"
#include "report/figure.h"

namespace minbert {

struct BagResult {
  // The scores with the best leading score; empty if the leading score was never defined
  TaskScores dev;
  // What reached these scores
  double weight_decay = 0;
  bool mean = false;                                // the features are shares of words, not counts
  int epoch = 0;                                    // after so many epochs
};

// A task's training set and its dev sets, each text of a pair by itself.
struct BagSets {
  Dataset train;
  std::vector<Dataset> dev;
};
BagSets read_bags(const std::string& folder, const Task& task, const Tokenizer& tokenizer,
                  DatasetOptions options, std::ostream& log);

// The best dev scores over a small grid of weight decays, counts or shares, and epochs: choosing on
// the dev set favors the yardstick. vocabulary: the number of word pieces.
BagResult bag_of_words(const Task& task, const BagSets& sets, int vocabulary, uint64_t seed);

}  // namespace minbert
