// Passes over data without gradients and without dropout: predictions, scores, statistics of [CLS].
#pragma once

#include "minbert/experiment.h"
#include "minbert/heads.h"
#include "minbert/metrics.h"

namespace minbert {

// The scores of one model, of each task.
using Scores = std::vector<TaskScores>;

// The network's predictions for every example of data; sets the network to evaluation. Errors: a
// task that the network has no head for; a logit that is not finite. Throws Interrupted.
Predictions predict(MultitaskBert& network, const Task& task, const Dataset& data);
// The scores of these predictions against the labels of data, one for each metric of the task.
TaskScores scores(const Task& task, const Dataset& data, const Predictions& predictions);

// A task's scores on some sets, predicted once each; where every prediction is the same, `warnings`
// say so.
TaskScores scores_on(std::span<const Dataset> sets, MultitaskBert& network, const Task& task,
                     std::ostream* warnings = nullptr);

// Into the folder, of every task: the predictions for its dev sets, and for its test sets where it
// has them.
void write_predictions(const std::string& folder, MultitaskBert& network,
                       const std::vector<TaskData>& data);

// Dev scores of the model in the folder.
Scores evaluate(const Experiment& experiment, const std::string& folder);

// The pass over the training set in which a norm of [CLS] takes its statistics, once, before the
// first step [TA sec.4.2]; nothing to do for norms that need no set. False: interrupted.
bool fit_cls_norm(MultitaskBert& network, const std::vector<TaskData>& data);

}  // namespace minbert
