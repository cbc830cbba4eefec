// Training a multitask BERT.
#pragma once

#include "minbert/evaluate.h"
#include "minbert/experiment.h"

namespace minbert {

struct RunResult {
  // Of the best model; train: where it was asked for
  Scores train, dev;
  int64_t best_epoch = -1, steps = 0;
  double first_gradient = 0;                        // the norm of the first step's gradient
  int64_t parameters = 0, trained = 0;              // elements of the model; those that are trained
  double seconds = 0;                               // of training
  bool interrupted = false;
};

// One training run in options.out, new or resumed. Errors: those of Experiment; a state in the
// folder that does not fit the model or the data; a loss, a weight or a moment that is not finite;
// a full disk.
RunResult train(const TrainOptions& options);

// The same beside other runs of an experiment, in a folder of its own. stop_after: stop (and save)
// after so many optimizer steps; 0: never. score_training: score the best model on the training
// set, too.
RunResult train(const Experiment& experiment, const TrainOptions& options,
                const std::string& folder, int64_t stop_after = 0, bool score_training = false);

}  // namespace minbert
