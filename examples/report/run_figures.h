// Figures of runs that have ended, made from the tables in their folders, so that a resumed run's
// shows the whole.
#pragma once

#include "minbert/pretrainer.h"
#include "minbert/trainer.h"
#include "report/figure.h"

namespace minbert {

// One curve in a figure: the mean over the runs in these folders.
struct DrawnRuns {
  std::string label;
  Names folders;
};

// FOLDER/figures/training: for each task its loss over the steps and its leading dev score over the
// epochs.
void draw_training(const std::string& folder, const std::vector<TaskData>& data,
                   const std::vector<DrawnRuns>& runs);

// OUT/figures/pretraining: the MLM loss beside its yardsticks, and the share of pairs judged right.
void draw_pretraining(const PretrainOptions& options, const PretrainResult& result);

}  // namespace minbert
