// Figures of runs that have ended, made from the tables in their folders, so that a resumed run's
// shows the whole.
#pragma once

#include "minbert/comparison.h"
#include "minbert/pretrainer.h"

namespace minbert {

// FOLDER/figures/training: for each task its loss over the steps and its leading dev score over the
// epochs, of each variant the mean over its runs.
void draw_training(const std::string& folder, const Experiment& experiment,
                   const std::vector<VariantRuns>& variants);

// OUT/figures/norms: the losses of each task, in a panel for each placement.
void draw_norms(const Experiment& experiment, const std::vector<VariantRuns>& variants);

// OUT/figures/pretraining: the MLM loss beside its yardsticks, and the share of pairs judged right.
void draw_pretraining(const PretrainOptions& options, const PretrainResult& result);

}  // namespace minbert
