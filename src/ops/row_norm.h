// What the norms of a row by itself share (layer_norm.cpp, rms_norm.cpp): a mean, and the frame.
#pragma once

#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {

// The mean of a row, corrected once by the mean of the differences: with eps = 1e-12 a constant row
// of 768 times 10.1f otherwise gives -0.98 instead of 0.
template <class Team>
HD real mean_of_row(Team team, int n, const real* x) {
  const real mu = team.sum(n, [=](int i) { return x[i]; }) / real(n);
  return mu + team.sum(n, [=](int i) { return x[i] - mu; }) / real(n);
}

// Runs a norm's forward on each row of x [T,H], and puts its backward on the tape. weight and bias:
// [G,H], row t uses those of group[t]; without group [H]; or no tensor. The kernels' arguments:
//   forward          team, H, x, weight, bias (nullptr: no tensor), y, mean and rstd of the row
//   backward         team, H, x, dy, weight, mean, rstd, dx
//   weight_gradient  i, x, dy, mean, rstd: the row's contribution to dweight_i
// In a vectorised loop `weight ? weight[i] : 1` loads from address 0 under a mask, which the
// processor traps: 2 to 5 times slower. So a kernel loads from x in place of what is null.
// The tape names the line that calls this.
template <class Forward, class Backward, class WeightGradient>
Tensor row_norm(const char* name, const Tensor& x, const Tensor& weight, const Tensor& bias,
                const Indices& group, const Forward& forward, const Backward& backward,
                const WeightGradient& weight_gradient, Place formula = Place::current()) {
  const int64_t T = x.rows(), H = x.cols(), G = group && weight ? weight.rows() : 1;
  MB_CHECK(H > 0 && (!weight || weight.size() == G * H) && (!bias || bias.size() == G * H),
           "{}: x {}, weight {} and bias {} do not fit", name, x.shape(),
           weight ? weight.shape() : Shape{}, bias ? bias.shape() : Shape{});
  MB_CHECK(!group || group.size() == T, "{}: x {} has {} rows but {} groups were given", name,
           x.shape(), T, group.size());
  for (const int32_t g : group)
    MB_CHECK(g >= 0 && g < G, "{}: group {} is outside of 0..{}", name, g, G - 1);

  const Tensor y(x.shape(), x.device(), name);
  const Tensor mean({T, 1}, x.device(), name), rstd({T, 1}, x.device(), name);
  launch_rows(x, forward, x, Grouped{weight, group}, Grouped{bias, group}, y, mean, rstd);
  std::vector<Tensor> inputs = {x};
  if (weight) inputs.push_back(weight);
  if (bias) inputs.push_back(bias);
  return record(name, y, inputs, [=](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      launch_rows(x, backward, x, dy, Grouped{weight, group}, mean, rstd, dx);
    });
    if (weight) g(1, [&](Sink d_weight) {
      launch_column_sums(x, group, d_weight, weight_gradient, x, dy, mean, rstd);
    });
    if (bias) g(weight ? 2 : 1, [&](Sink d_bias) { add_rows(dy, d_bias, group); });
  }, formula);
}

}  // namespace minbert
