// Arithmetic of kernels that a plain formula would not give.
#pragma once

#include "minbert/random.h"
#include "minbert/tensor.h"

namespace minbert {

// v, but NaN where v is infinite. A statistic that overflowed would otherwise pass for a sound one: 1/√∞ is 0.
HD inline real nan_if_infinite(real v) { return v + (v - v); }

}  // namespace minbert
