// The groups of channels that group and group-sentence have in common.
#pragma once

#include "minbert/norm_options.h"

namespace minbert {

inline const NormOption groups_option = {"groups", "32 (16 below 128 channels)", 1, 1e9};
int64_t groups_of(const NormOptions& options);      // Error where the channels do not part into so many

}  // namespace minbert
