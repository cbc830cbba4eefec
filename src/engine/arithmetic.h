// Arithmetic of kernels that a plain formula would not give.
#pragma once

#include "minbert/random.h"
#include "minbert/tensor.h"

namespace minbert {

// v, but NaN where v is infinite. A statistic that overflowed would otherwise pass for a sound one: 1/√∞ is 0.
HD inline real nan_if_infinite(real v) { return v + (v - v); }

// a b, rounded. Compiled as part of a b - c (one fma, which rounds once), it would leave its rounding error where c is
// this same rounded product, not 0. The sum with 0 keeps them apart.
HD inline real product(real a, real b) { return a * b + real(0); }

}  // namespace minbert
