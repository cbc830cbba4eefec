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
#include "engine/launch.h"
#include "ops/row_norm.h"

namespace minbert {
namespace {

struct RowScaleForward {
  bool about_mean;
  real eps;
  template <class Team>
  HD void operator()(Team team, int H, const real* x, const real* weight, const real* bias,
                     real* y, real* mean, real* rstd) const {
    const real mu = about_mean ? mean_of_row(team, H, x) : real(0);
    const auto squared = [=](int i) { return (x[i] - mu) * (x[i] - mu); };
    const real s2 = team.sum(H, squared) / real(H);
    const real r = 1 / std::sqrt(nan_if_infinite(s2 + eps));
    const bool scaled = weight, shifted = bias;
    const real *w = scaled ? weight : x, *b = shifted ? bias : x;    // never null: row_norm.h
    team.each(H, [=](int i) {
      y[i] = x[i] * r * (scaled ? w[i] : 1) + (shifted ? b[i] : 0);
    });
    team.each(1, [=](int) {
      *mean = mu;
      *rstd = r;
    });
  }
};

struct RowScaleBackward {
  bool about_mean;
  template <class Team>
  HD void operator()(Team team, int H, const real* x, const real* dy, const real* weight,
                     const real* mean, const real* rstd, Target dx) const {
    const real mu = *mean, r = *rstd;
    const bool scaled = weight;
    const real* w = scaled ? weight : x;
    const auto e = [=](int i) { return scaled ? product(dy[i], w[i]) : dy[i]; };
    const auto centered = [=](int i) { return x[i] - mu; };
    const real mean_exhat = team.sum(H, [=](int i) { return e(i) * x[i] * r; }) / real(H);
    const real rounding = about_mean ? team.sum(H, centered) / real(H) : real(0);
    team.each(H, [=](int i) { dx(i, r * (e(i) - (centered(i) - rounding) * r * mean_exhat)); });
  }
};

struct WeightGradient {                             // of one row: dy_i x_i rstd
  HD real operator()(int64_t i, const real* x, const real* dy, const real*,
                     const real* rstd) const {
    return dy[i] * x[i] * *rstd;
  }
};

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return row_norm("rms_norm", x, weight, {}, {}, RowScaleForward{false, real(eps)},
                  RowScaleBackward{false}, WeightGradient{});
}
Tensor variance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  return row_norm("variance_norm", x, weight, bias, {}, RowScaleForward{true, real(eps)},
                  RowScaleBackward{true}, WeightGradient{});
}

}  // namespace minbert
