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
//   Deviation the mean is corrected once (row_norm.h).
#include "engine/launch.h"
#include "ops/row_norm.h"

namespace minbert {
namespace {

struct LayerNormForward {
  real eps;
  template <class Team>
  HD void operator()(Team team, int H, const real* x, const real* weight, const real* bias,
                     real* y, real* mean, real* rstd) const {
    const real mu = mean_of_row(team, H, x);
    const auto squared = [=](int i) { return (x[i] - mu) * (x[i] - mu); };
    const real sigma2 = team.sum(H, squared) / real(H);
    const real r = 1 / std::sqrt(nan_if_infinite(sigma2 + eps));
    const bool scaled = weight, shifted = bias;
    const real *w = scaled ? weight : x, *b = shifted ? bias : x;    // never null: row_norm.h
    team.each(H, [=](int i) {
      y[i] = (x[i] - mu) * r * (scaled ? w[i] : 1) + (shifted ? b[i] : 0);
    });
    team.each(1, [=](int) {                                              // kept for the backward
      *mean = mu;
      *rstd = r;
    });
  }
};

struct LayerNormBackward {
  template <class Team>
  HD void operator()(Team team, int H, const real* x, const real* dy, const real* weight,
                     const real* mean, const real* rstd, Target dx) const {
    const real mu = *mean, r = *rstd;
    const bool scaled = weight;
    const real* w = scaled ? weight : x;
    const auto e = [=](int i) { return scaled ? product(dy[i], w[i]) : dy[i]; };
    const auto xhat = [=](int i) { return (x[i] - mu) * r; };
    const real mean_e = team.sum(H, e) / real(H);
    const real mean_e_xhat = team.sum(H, [=](int i) { return e(i) * xhat(i); }) / real(H);
    team.each(H, [=](int i) { dx(i, r * (e(i) - mean_e - xhat(i) * mean_e_xhat)); });
  }
};

struct WeightGradient {                             // of one row: dy_i xhat_i
  HD real operator()(int64_t i, const real* x, const real* dy, const real* mean,
                     const real* rstd) const {
    return dy[i] * (x[i] - *mean) * *rstd;
  }
};

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  const Indices& group) {
  return row_norm("layer_norm", x, weight, bias, group, LayerNormForward{real(eps)},
                  LayerNormBackward{}, WeightGradient{});
}

}  // namespace minbert
