// Logistic (for a similarity, linear) regression on bags of word pieces: the yardstick for whatever
// reads word order.
#pragma once

#include "minbert/metrics.h"

namespace minbert {

struct BagResult {
  // Of these the leading one is the best; empty: it never had one
  TaskScores dev;
  double weight_decay = 0;                          // with which it was reached,
  bool mean = false;                                // by shares of words instead of counts,
  int epoch = 0;                                    // after so many epochs
};

// The best dev scores over a small grid of weight decays, counts or shares, and epochs: choosing on
// the dev set favors the yardstick. train, dev (each of the task's sets): read with Pairs::siamese.
// vocabulary: the number of word pieces.
BagResult bag_of_words(const Task& task, const Dataset& train, const std::vector<Dataset>& dev,
                       int vocabulary, uint64_t seed);

}  // namespace minbert
