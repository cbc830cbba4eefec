// Softmax of one row and its gradient, for every kernel that has one: softmax, attention.
#pragma once

#include "engine/launch.h"

namespace minbert {

// y_i = exp(x_i - m) / sum_j exp(x_j - m), m = max_j x_j          x, y [n]; y may be x
template <class Team>
HD void softmax_row(Team team, int n, const real* x, real* y) {
  const real m = team.max(n, [=](int i) { return x[i]; });
  const real inverse = 1 / team.sum(n, [=](int i) { return y[i] = std::exp(x[i] - m); });
  team.each(n, [=](int i) { y[i] *= inverse; });
}

// dL/dx_i = y_i (dy_i - sum_j dy_j y_j)                          y, dy, dx [n]; dx may be dy
template <class Team>
HD void softmax_row_backward(Team team, int n, const real* y, const real* dy, Target dx) {
  const real dot = team.sum(n, [=](int i) { return dy[i] * y[i]; });
  team.each(n, [=](int i) { dx(i, y[i] * (dy[i] - dot)); });
}

}  // namespace minbert
