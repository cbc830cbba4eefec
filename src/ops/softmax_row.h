// Softmax and cross-entropy of one row: what the kernels of softmax, attention and losses call.
#pragma once

#include "engine/launch.h"

namespace minbert {

// y_i = exp(x_i - m) / sum_j exp(x_j - m), m = max_j x_j          x, y [n], which may be one array
template <class Team>
HD void softmax_row(Team team, int n, const real* x, real* y) {
  const real m = team.max(n, [=](int i) { return x[i]; });
  const real inverse = 1 / team.sum(n, [=](int i) { return y[i] = std::exp(x[i] - m); });
  team.each(n, [=](int i) { y[i] *= inverse; });
}

// -log p_label, p = softmax(x)                         x(i) for i < n, p [n]; x(i) may read p[i]
template <class Team, class X>
HD real cross_entropy_row(Team team, int n, X x, int label, real* p) {
  const real x_label = x(label);                    // before p, which x may read, is written
  team.sync();
  const real m = team.max(n, x);
  const real s = team.sum(n, [=](int i) { return p[i] = std::exp(x(i) - m); });
  const real inverse = 1 / s;
  team.each(n, [=](int i) { p[i] *= inverse; });
  return std::log(s) - (x_label - m);               // [CLN losses]
}

}  // namespace minbert
