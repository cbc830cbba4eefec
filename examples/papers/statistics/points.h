// What t-SNE and k-means expect of their points.
#pragma once

#include <cmath>

#include "minbert/tensor.h"

namespace minbert {

// The values of x [N,H], as Tensor::on_host gives them. Errors: a NaN or an infinity, only equal
// points.
inline std::span<const real> checked_points(const char* method, const Tensor& x,
                                            std::vector<real>& copy) {
  const std::span<const real> values = x.on_host(copy);
  const size_t H = size_t(x.cols());
  for (size_t k = 0; k < values.size(); ++k)
    MB_CHECK(std::isfinite(values[k]),
             "{}: point {} is {} in dimension {} (both counted from 0); {}", method, k / H,
             values[k], k % H, "leave such points out, or find out where they come from");
  bool varies = false;
  for (size_t i = 0; i < values.size() && !varies; ++i) varies = values[i] != values[i % H];
  MB_CHECK(varies, "{}: all of the {} points are equal; there is nothing to tell apart", method,
           x.rows());
  return values;
}

}  // namespace minbert
