// Layer normalization of each row of x, plain and conditional.
//
//   Papers    Ba, Kiros & Hinton 2016; Improving minBERT with Conditional Layer Normalization
//   Forward   mu = mean(x)   sigma2 = mean((x-mu)^2)   rstd = 1/sqrt(sigma2 + eps)   of each row
//             xhat_i = (x_i - mu) rstd     y_i = xhat_i weight_i + bias_i             [CLN eq.1-3]
//   Shapes    x, y [T,H]   weight, bias [H]; conditional: weight, bias [G,H] and group [T], where
//             row t takes weight[group[t]] and bias[group[t]]                         [CLN eq.4]
//
//   Backward  e_i = dy_i weight_i is the gradient of xhat_i. x_i acts on each xhat_j in three ways:
//               in x_j - mu, where j = i                                  e_i rstd
//               through mu:    dxhat_j/dmu = -rstd,      dmu/dx_i = 1/H   - mean(e) rstd
//               through rstd:  dxhat_j/drstd = x_j - mu, drstd/dx_i = -rstd^3 (x_i-mu)/H
//                              sum_j e_j (x_j-mu) = H mean(e xhat)/rstd  - mean(e xhat) xhat_i rstd
//             (mu stands in sigma2, too, but there its derivative is 0: sum_j (x_j - mu) = 0)
//             dx_i = rstd (e_i - mean(e) - xhat_i mean(e xhat))
//             dweight_i = sum of dy_i xhat_i, dbias_i = sum of dy_i, over the rows that they served
//   Deviation the mean is corrected once by the mean of the differences: with eps = 1e-12 a
//             constant row of 768 times 10.1f otherwise gives -0.98 instead of 0.
#include "engine/arithmetic.h"
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

struct LayerNormForward {
  const real *x, *weight, *bias;                    // weight nullptr: 1; bias nullptr: 0
  const int32_t* group;                             // nullptr: all rows are of group 0
  real *y, *mean, *rstd;                            // mean, rstd [T]: kept for the backward
  int H;
  real eps;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const int64_t g = group ? group[row] : 0;
    const real* in = x + row * h;
    real* out = y + row * h;
    real mu = team.sum(h, [=](int i) { return in[i]; }) / real(h);
    mu += team.sum(h, [=](int i) { return in[i] - mu; }) / real(h);              // corrected once
    const auto squared = [=](int i) { return (in[i] - mu) * (in[i] - mu); };
    const real sigma2 = team.sum(h, squared) / real(h);
    const real r = 1 / std::sqrt(nan_if_infinite(sigma2 + eps));
    const real* gamma = weight ? weight + g * h : nullptr;
    const real* beta = bias ? bias + g * h : nullptr;
    team.each(h, [=](int i) {
      out[i] = (in[i] - mu) * r * (gamma ? gamma[i] : 1) + (beta ? beta[i] : 0);
    });
    real *mean_of_row = mean + row, *rstd_of_row = rstd + row;
    team.each(1, [=](int) { *mean_of_row = mu, *rstd_of_row = r; });
  }
};

struct LayerNormBackward {
  const real *x, *dy, *weight;
  const int32_t* group;
  const real *mean, *rstd;
  Target dx;
  int H;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const int64_t g = group ? group[row] : 0;
    const real* in = x + row * h;
    const real* d = dy + row * h;
    const real* gamma = weight ? weight + g * h : nullptr;
    const real mu = mean[row], r = rstd[row];
    const auto e = [=](int i) { return gamma ? product(d[i], gamma[i]) : d[i]; };
    const auto xhat = [=](int i) { return (in[i] - mu) * r; };
    const real mean_e = team.sum(h, e) / real(h);
    const real mean_e_xhat = team.sum(h, [=](int i) { return e(i) * xhat(i); }) / real(h);
    const Target result = dx;
    team.each(h, [=](int i) {
      result(row * h + i, r * (e(i) - mean_e - xhat(i) * mean_e_xhat));
    });
  }
};

struct WeightGradient {                             // of one row: dy_i xhat_i
  const real *x, *dy, *mean, *rstd;
  int64_t H;
  HD real operator()(int64_t row, int64_t i) const {
    return dy[row * H + i] * (x[row * H + i] - mean[row]) * rstd[row];
  }
};

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  const Indices& group) {
  const int64_t T = x.rows(), H = x.cols(), G = group && weight ? weight.rows() : 1;
  MB_CHECK(H > 0 && (!weight || weight.size() == G * H) && (!bias || bias.size() == G * H),
           "layer_norm: x {}, weight {} and bias {} do not fit", x.shape(),
           weight ? weight.shape() : Shape{}, bias ? bias.shape() : Shape{});
  MB_CHECK(!group || group.size() == T, "layer_norm: x {} has {} rows but {} groups were given",
           x.shape(), T, group.size());
  for (const int32_t g : group)
    MB_CHECK(g >= 0 && g < G, "layer_norm: group {} is outside of 0..{}", g, G - 1);

  const auto pointer = [](const Tensor& t) { return t ? t.data() : nullptr; };
  Tensor y(x.shape(), x.device()), mean({T}, x.device()), rstd({T}, x.device());
  launch_rows(y, LayerNormForward{.x = x.data(), .weight = pointer(weight), .bias = pointer(bias),
                                  .group = group.data(x.device()), .y = y.data(),
                                  .mean = mean.data(), .rstd = rstd.data(), .H = int(H),
                                  .eps = real(eps)});
  std::vector<Tensor> inputs = {x};
  if (weight) inputs.push_back(weight);
  if (bias) inputs.push_back(bias);
  return record("layer_norm", y, inputs, [=](const Tensor& dy, Grads& g) {
    const int32_t* groups = group.data(dy.device());
    g(0, [&](Sink dx) {
      launch_rows(x, LayerNormBackward{.x = x.data(), .dy = dy.data(), .weight = pointer(weight),
                                       .group = groups, .mean = mean.data(), .rstd = rstd.data(),
                                       .dx = dx, .H = int(H)});
    });
    if (weight) g(1, [&](Sink d_weight) {
      launch_column_sums(dy.device(), T, H, int(G), groups, d_weight,
                         WeightGradient{x.data(), dy.data(), mean.data(), rstd.data(), H});
    });
    if (bias) g(weight ? 2 : 1, [&](Sink d_bias) {
      launch_column_sums(dy.device(), T, H, int(G), groups, d_bias, Element{dy.data(), H});
    });
  });
}

}  // namespace minbert
