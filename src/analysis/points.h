// What t-SNE and k-means expect of their points.
#pragma once

#include <algorithm>
#include <cmath>

#include "minbert/tensor.h"

namespace minbert {

// The values of x [N,H], as Tensor::on_host gives them. Errors: a NaN or an infinity, only equal points.
inline std::span<const real> checked_points(const char* method, const Tensor& x, std::vector<real>& copy) {
  const std::span<const real> values = x.on_host(copy);
  const size_t H = size_t(x.cols());
  const auto bad = std::ranges::find_if(values, [](real v) { return !std::isfinite(v); });
  const size_t k = size_t(bad - values.begin());
  MB_CHECK(bad == values.end(), "{}: point {} is {} in dimension {} (both counted from 0); {}", method, k / H,
           k < values.size() ? *bad : 0, k % H, "leave such points out, or find out where they come from");
  bool varies = false;
  for (size_t i = 0; i < values.size() && !varies; ++i) varies = values[i] != values[i % H];
  MB_CHECK(varies, "{}: all of the {} points are equal; there is nothing to tell apart", method, x.rows());
  return values;
}

}  // namespace minbert
