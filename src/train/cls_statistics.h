// The pass over the training set in which a norm of [CLS] takes its statistics, once, before the first step.
#pragma once

#include "minbert/experiment.h"

namespace minbert {

// Without dropout [TA sec.4.2]; nothing to do for norms that need no set. False: interrupted.
bool fit_cls_norm(MultitaskBert& network, const std::vector<TaskData>& data);

}  // namespace minbert
