// Where a training run stands, between two steps.
#pragma once

#include <vector>

#include "minbert/files.h"

namespace minbert {

struct Position {
  int64_t epoch = 0, batch_in_epoch = 0;            // of the next batch to take
  int64_t step = 0;                                 // optimizer steps taken
  int64_t batches = 0;                              // batches seen: the clock of the dropout masks
  std::vector<double> loss_sums, loss_counts;       // of this epoch so far, for each task
  double best = -1e300;                             // the best mean dev score, and the epochs since
  int64_t best_epoch = -1, epochs_since_best = 0;
  double first_gradient = 0;                        // the norm of the first step's gradient
  double seconds = 0;                               // of training, over all sessions
  bool finished = false;
};

Json to_json(const Position& position);
Position from_json(const Json& json);             // Error where a key is missing

}  // namespace minbert
