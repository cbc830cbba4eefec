// Sizes of gradients and of differences, in double.
#pragma once

#include <cmath>

#include "minbert/tensor.h"

namespace minbert {

inline double norm_of(const Tensor& x) {            // ‖x‖, of all elements
  double squares = 0;
  for (const real v : x.values()) squares += double(v) * double(v);
  return std::sqrt(squares);
}

// most = max(most, value), infinite for a value that is not finite: std::max would lose a NaN.
inline void raise(double& most, double value) {
  if (!(value <= most)) most = std::isfinite(value) ? value : INFINITY;
}

}  // namespace minbert
