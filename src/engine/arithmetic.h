// Arithmetic of kernels where a plain formula would hide an overflow or leave a rounding error.
#pragma once

#include "minbert/random.h"
#include "minbert/tensor.h"

namespace minbert {

// v, but NaN where v is infinite: 1/√∞ is 0, so an overflowed variance would go unnoticed.
HD inline real nan_if_infinite(real v) { return v + (v - v); }

// a b, rounded. The compiler may turn a b - c into one fma, which rounds once: where c is the same rounded product, the
// result would be its rounding error instead of 0. The sum with 0 prevents that.
HD inline real product(real a, real b) { return a * b + real(0); }

}  // namespace minbert
