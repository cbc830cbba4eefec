// The groups of channels of group and group-sentence.
#pragma once

#include "minbert/norm_options.h"

namespace minbert {

inline const NormOption groups_option = {"groups", "32 (16 below 128 channels)", 1, 1e9};
int64_t groups_of(const NormOptions& options);      // Error if they do not divide the channels

}  // namespace minbert
