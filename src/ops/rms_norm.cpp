// Norms of a row that subtract no mean: they divide by the root mean square, or by the deviation.
//
//   Papers    rms_norm  Zhang & Sennrich 2019          variance_norm  Wang et al. 2020
//   Forward   rstd = 1/sqrt(mean((x-mu)^2) + eps)      y_i = x_i rstd weight_i + bias_i
//             mu: 0 in rms_norm, which has no bias; the mean of the row in variance_norm
//   Shapes    x, y [T,H]   weight, bias [H]
//   Backward  e_i = dy_i weight_i     dx_i = rstd (e_i - (x_i-mu) rstd mean(e x) rstd)
//             as in layer_norm.cpp, without the way through mu; dweight_i = sum of dy_i x_i rstd
//   Deviation variance_norm subtracts mean(x - mu) from x - mu: 0 but for mu's rounding, which a
//             large mean of x magnifies there.
#include "engine/arithmetic.h"
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

struct RowScaleForward {
  bool about_mean;
  const real *x, *weight, *bias;                    // bias nullptr: 0
  real *y, *mean, *rstd;                            // mean, rstd [T]: kept for the backward
  int H;
  real eps;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const real *in = x + row * h, *gamma = weight, *beta = bias;
    real* out = y + row * h;
    real mu = 0;
    if (about_mean) {
      mu = team.sum(h, [=](int i) { return in[i]; }) / real(h);
      mu += team.sum(h, [=](int i) { return in[i] - mu; }) / real(h);            // corrected once
    }
    const auto squared = [=](int i) { return (in[i] - mu) * (in[i] - mu); };
    const real s2 = team.sum(h, squared) / real(h);
    const real r = 1 / std::sqrt(nan_if_infinite(s2 + eps));
    team.each(h, [=](int i) { out[i] = in[i] * r * gamma[i] + (beta ? beta[i] : 0); });
    real *mean_of_row = mean + row, *rstd_of_row = rstd + row;
    team.each(1, [=](int) { *mean_of_row = mu, *rstd_of_row = r; });
  }
};

struct RowScaleBackward {
  bool about_mean;
  const real *x, *dy, *weight, *mean, *rstd;
  Target dx;
  int H;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const real *in = x + row * h, *d = dy + row * h, *gamma = weight;
    const real mu = mean[row], r = rstd[row];
    const auto e = [=](int i) { return product(d[i], gamma[i]); };
    const real mean_ex = team.sum(h, [=](int i) { return e(i) * in[i] * r; }) / real(h);
    const auto centered = [=](int i) { return in[i] - mu; };
    const real rounding = about_mean ? team.sum(h, centered) / real(h) : real(0);
    const Target result = dx;
    team.each(h, [=](int i) {
      result(row * h + i, r * (e(i) - (centered(i) - rounding) * r * mean_ex));
    });
  }
};

struct WeightGradient {                             // of one row: dy_i x_i rstd
  const real *x, *dy, *rstd;
  int64_t H;
  HD real operator()(int64_t row, int64_t i) const {
    return dy[row * H + i] * x[row * H + i] * rstd[row];
  }
};

Tensor normalize(const char* name, bool about_mean, const Tensor& x, const Tensor& weight,
                 const Tensor& bias, double eps) {
  const int64_t T = x.rows(), H = x.cols();
  MB_CHECK(H > 0 && weight.size() == H && (!bias || bias.size() == H),
           "{}: x {}, weight {} and bias {} do not fit", name, x.shape(), weight.shape(),
           bias ? bias.shape() : Shape{});
  Tensor y(x.shape(), x.device()), mean({T}, x.device()), rstd({T}, x.device());
  launch_rows(y, RowScaleForward{.about_mean = about_mean, .x = x.data(), .weight = weight.data(),
                                 .bias = bias ? bias.data() : nullptr, .y = y.data(),
                                 .mean = mean.data(), .rstd = rstd.data(), .H = int(H),
                                 .eps = real(eps)});
  std::vector<Tensor> inputs = {x, weight};
  if (bias) inputs.push_back(bias);
  return record(name, y, inputs, [=](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      launch_rows(x, RowScaleBackward{.about_mean = about_mean, .x = x.data(), .dy = dy.data(),
                                      .weight = weight.data(), .mean = mean.data(),
                                      .rstd = rstd.data(), .dx = dx, .H = int(H)});
    });
    g(1, [&](Sink d_weight) {
      launch_column_sums(dy.device(), T, H, 1, nullptr, d_weight,
                         WeightGradient{x.data(), dy.data(), rstd.data(), H});
    });
    if (bias) g(2, [&](Sink d_bias) {
      launch_column_sums(dy.device(), T, H, 1, nullptr, d_bias, Element{dy.data(), H});
    });
  });
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return normalize("rms_norm", false, x, weight, {}, eps);
}
Tensor variance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return normalize("variance_norm", true, x, weight, bias, eps);
}

}  // namespace minbert
