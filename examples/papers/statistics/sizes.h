// Sizes of gradients and of differences, in double.
#pragma once

#include <cmath>

#include "minbert/ops.h"

namespace minbert {

inline double norm_of(const Tensor& x) {            // ‖x‖, of all elements
  double squares = 0;
  for (const real v : x.values()) squares += double(v) * double(v);
  return std::sqrt(squares);
}

inline double relative_distance(const Tensor& a, const Tensor& b) {     // ‖a - b‖ / ‖b‖; NaN: of other sizes
  if (a.shape() != b.shape()) return NAN;
  const NoGrad no_tape;
  const double distance = norm_of(a - b);
  return distance > 0 ? distance / norm_of(b) : 0;
}

// most = max(most, value), infinite for a value that is not finite: std::max would lose a NaN.
inline void raise(double& most, double value) {
  if (!(value <= most)) most = std::isfinite(value) ? value : INFINITY;
}

}  // namespace minbert
