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
//   Deviation the mean is corrected once (mean_of_row.h).
//   Plain     layer_norm in examples/plain_bert.cpp
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/mean_of_row.h"

namespace minbert {
namespace {

// Of a row x: mu, sigma2 and y.
struct LayerNormForward {
  real eps;
  template <class Team>
  HD void operator()(Team team, int H, const real* x, const real* weight, const real* bias,
                     real* y, real* mean, real* rstd) const {
    const real mu = mean_of_row(team, H, x);                       // [CLN eq.2] [LN-PEFT eq.3]
    const auto squared = [=](int i) { return (x[i] - mu) * (x[i] - mu); };
    const real sigma2 = team.sum(H, squared) / real(H);            // [CLN eq.3] [LN-PEFT eq.3]
    const real r = 1 / std::sqrt(nan_if_infinite(sigma2 + eps));
    team.each(H, [=](int i) { y[i] = (x[i] - mu) * r * weight[i] + bias[i]; });      // [CLN eq.1]
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
    const auto e = [=](int i) { return product(dy[i], weight[i]); };
    const auto xhat = [=](int i) { return (x[i] - mu) * r; };
    const real mean_e = team.sum(H, e) / real(H);
    const real mean_e_xhat = team.sum(H, [=](int i) { return e(i) * xhat(i); }) / real(H);
    team.each(H, [=](int i) { dx(i, r * (e(i) - mean_e - xhat(i) * mean_e_xhat)); });
  }
};

struct WeightGradient {                             // of one row
  HD real operator()(int64_t i, const real* x, const real* dy, const real* mean,
                     const real* rstd) const {
    return dy[i] * (x[i] - *mean) * *rstd;
  }
};

}  // namespace

// Conditional: row r of x takes row group[r] of weight, γ + γ_t, and of bias, β + β_t.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps,
                  const Indices& group) {
  const int64_t T = x.rows(), H = x.cols(), G = group ? weight.rows() : 1;
  MB_CHECK(H > 0 && weight.size() == G * H && bias.size() == G * H,
           "layer_norm: x {}, weight {} and bias {} do not fit", x.shape(), weight.shape(),
           bias.shape());
  MB_CHECK(!group || group.size() == T, "layer_norm: x {} has {} rows but {} groups were given",
           x.shape(), T, group.size());
  for (const int32_t g : group)
    MB_CHECK(g >= 0 && g < G, "layer_norm: group {} is outside of 0..{}", g, G - 1);

  const Tensor y(x.shape(), x.device()), mean({T, 1}, x.device()), rstd({T, 1}, x.device());
  launch_rows(x, LayerNormForward{real(eps)}, x, Grouped{weight, group}, Grouped{bias, group}, y,
              mean, rstd);                                         // [CLN eq.4]
  return record("layer_norm", y, {x, weight, bias}, [=](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      launch_rows(x, LayerNormBackward{}, x, dy, Grouped{weight, group}, mean, rstd, dx);
    });
    g(1, [&](Sink d_weight) {
      launch_column_sums(x, group, d_weight, WeightGradient{}, x, dy, mean, rstd);
    });
    g(2, [&](Sink d_bias) { add_rows(dy, d_bias, group); });
  });
}

}  // namespace minbert
