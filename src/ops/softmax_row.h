// Softmax of one row and its gradient, for the kernels of softmax, attention (the first) and
// cross-entropy.
#pragma once

#include "engine/launch.h"

namespace minbert {

// y_i = exp(x_i - m) / sum_j exp(x_j - m), m = max_j x_j          x, y [n], which may be one array
template <class Team>
HD void softmax_row(Team team, int n, const real* x, real* y) {
  const real m = team.max(n, [=](int i) { return x[i]; });
  team.each(n, [=](int i) { y[i] = std::exp(x[i] - m); });
  const real inverse = 1 / team.sum(n, [=](int i) { return y[i]; });
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
  return std::log(s) - (x_label - m);
}

// dL/dx_i = y_i (dy_i - sum_j dy_j y_j)                y, dy, dx [n]; dx may be dy's array
template <class Team>
HD void softmax_row_backward(Team team, int n, const real* y, const real* dy, Target dx) {
  const real dot = team.sum(n, [=](int i) { return dy[i] * y[i]; });
  team.each(n, [=](int i) { dx(i, y[i] * (dy[i] - dot)); });
}

}  // namespace minbert
