// Predictions and scores of a model, without gradients and without dropout.
#pragma once

#include "minbert/experiment.h"
#include "minbert/heads.h"
#include "minbert/metrics.h"

namespace minbert {

// The scores of one model, of each task.
using Scores = std::vector<TaskScores>;

Predictions predict(MultitaskBert& network, const Task& task, const Dataset& data);
TaskScores scores(const Task& task, const Dataset& data, const Predictions& predictions);

// A task's scores on some sets, predicted once each; where every prediction is the same, `warnings` say so.
TaskScores scores_on(std::span<const Dataset> sets, MultitaskBert& network, const Task& task,
                     std::ostream* warnings = nullptr);

// Dev scores of the model in the folder.
Scores evaluate(const Experiment& experiment, const std::string& folder);

// Examples `begin` and those behind it, as many as evaluation takes at a time.
std::vector<int32_t> evaluation_batch(const Dataset& data, size_t begin);

}  // namespace minbert
