// Layer normalization of each row, and its kin: all of them are this one kernel.
//
//   Papers      layer_norm     Ba, Kiros & Hinton 2016; Improving minBERT with Conditional Layer Normalization
//               variance_norm  Wang et al. 2020      rms_norm  Zhang & Sennrich 2019      group_norm  Wu & He 2018
//   Equation    y_i = (x_i - m) / sqrt(s2 + eps) gain_i + bias_i
//               m: the mean, or 0 (variance_norm, rms_norm)     s2 = 1/H sum (x_i-mu)^2, mu the mean, or 0 (rms_norm)
//   Input       x = residual + D u, D dropout: the sum is taken here, in the same pass; or x alone
//   Shapes      x, residual, u, y [T,H]   gain, bias [G,H], or none of them
//               group [T], the row of gain and bias that each row of x takes; without it they take turns: 0, 1, .. G-1,
//               0, ... (group_norm: a token is G rows, one for each of its groups of channels)
//   Deviations  the mean is corrected once by the mean of the differences: with eps = 1e-12 a constant row of 768 times
//               10.1f otherwise gives -0.98 instead of 0.
#include <algorithm>

#include "engine/arithmetic.h"
#include "engine/dropout_mask.h"
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

struct Form {
  bool centered, subtracted;                        // is s2 taken about the mean? is the mean subtracted?
};
constexpr Form layer{true, true}, variance{true, false}, rms{false, false};

// Which row of gain and bias a row takes.
struct Choice {
  const int32_t* group;                             // nullptr: they take turns
  int64_t groups;
  HD int64_t operator()(int64_t row) const { return group ? group[row] : row % groups; }
};

// x = residual + D u, where there is a u.
struct Residual {
  const real *residual, *u;
  bool drop;
  DropoutMask mask;
  template <class Team>
  HD void take(Team team, int64_t row, int h, real* x) const {
    if (!u) return;
    const real *from = residual + row * h, *add = u + row * h;
    real* to = x + row * h;
    if (drop) mask.each(team, h, row, [=](int i, real factor) { to[i] = from[i] + factor * add[i]; });
    else team.each(h, [=](int i) { to[i] = from[i] + add[i]; });
    team.sync();                                    // the mask's lanes are not the norm's
  }
};

// [CLN eq.1-3]  mu = 1/H sum x_i   s2 = 1/H sum (x_i-mu)^2   y_i = (x_i-mu)/sqrt(s2+eps) gain_i + bias_i
struct RowNormForward {
  Form form;
  Residual of;
  real* in;                                         // x, or the place for it
  const real *gain, *bias;                          // nullptr for 1, for 0
  Choice choice;
  real *out, *mean, *inverse_deviation;             // mean, inverse_deviation [T]: kept for the backward
  int H;
  real eps;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const real* x = in + row * h;
    real* y = out + row * h;
    of.take(team, row, h, in);
    real mu = 0;
    if (form.centered) {
      mu = team.sum(h, [=](int i) { return x[i]; }) / real(h);
      mu += team.sum(h, [=](int i) { return x[i] - mu; }) / real(h);                     // corrected once
    }
    const real s2 = team.sum(h, [=](int i) { return (x[i] - mu) * (x[i] - mu); }) / real(h);
    const real r = real(1) / std::sqrt(nan_if_infinite(s2 + eps)), m = form.subtracted ? mu : real(0);
    const int64_t at = choice(row) * h;
    const real* gamma = gain ? gain + at : nullptr;
    const real* beta = bias ? bias + at : nullptr;
    team.each(h, [=](int i) { y[i] = (x[i] - m) * r * (gamma ? gamma[i] : real(1)) + (beta ? beta[i] : real(0)); });
    real *mean_to = mean + row, *r_to = inverse_deviation + row;
    team.each(1, [=](int) { *mean_to = mu, *r_to = r; });
  }
};

// xhat_i = (x_i-m) r   e_i = dy_i gain_i     dL/dx_i = r (e_i - [1/H sum e_j] - (x_i-mu) r 1/H sum e_j xhat_j)
// The sum in brackets belongs to the mean that was subtracted: it is there where that was. Where mu stands in s2 alone,
// the mean of what follows stands in its place: 0 but for mu's rounding, which a large mean of x magnifies there.
// dL/dresidual is the same, and dL/du is it through the mask.
struct RowNormBackward {
  Form form;
  bool drop;
  DropoutMask mask;
  const real *in, *d_out, *gain;
  Choice choice;
  const real *mean, *inverse_deviation;
  Target dx, du;                                    // at nullptr: not wanted
  int H;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const real mu = mean[row], r = inverse_deviation[row], m = form.subtracted ? mu : real(0);
    const real* x = in + row * h;
    const real* dy = d_out + row * h;
    const real* gamma = gain ? gain + choice(row) * h : nullptr;
    const auto e = [=](int i) { return gamma ? product(dy[i], gamma[i]) : dy[i]; };
    const real mean_ex = team.sum(h, [=](int i) { return e(i) * (x[i] - m) * r; }) / real(h);
    real bracket = 0;
    if (form.subtracted) bracket = team.sum(h, e) / real(h);
    else if (form.centered) bracket = -team.sum(h, [=](int i) { return x[i] - mu; }) / real(h) * r * mean_ex;
    const Target to = dx, to_u = du;
    const auto slope = [=](int i) { return r * (e(i) - bracket - (x[i] - mu) * r * mean_ex); };
    if (!to_u.at) return team.each(h, [=](int i) { to(row * h + i, slope(i)); });
    const auto both = [=](int i, real factor) {
      const real d = slope(i);
      if (to.at) to(row * h + i, d);
      to_u(row * h + i, factor * d);
    };
    if (drop) mask.each(team, h, row, both);
    else team.each(h, [=](int i) { both(i, 1); });
  }
};

// dL/dgain_i = sum over the rows that took it of dy_i xhat_i          dL/dbias_i = sum over them of dy_i
template <bool turns>                               // a row of dy is G rows of x, side by side
struct GainGradient {
  const real *x, *dy, *mean, *inverse_deviation;
  bool subtracted;
  int64_t H;
  uint32_t G, of_group;                             // channels of a group
  HD real operator()(int64_t row, int64_t i) const {
    const int64_t cell = turns ? row * G + uint32_t(i) / of_group : row;
    const real m = subtracted ? mean[cell] : real(0);
    return dy[row * H + i] * (x[row * H + i] - m) * inverse_deviation[cell];
  }
};

// Sums over the rows that took each row of gain: f(row, i), i counting through the row's groups where they take turns.
template <class F>
void sum_into(const Sink& sink, int64_t T, int64_t H, int64_t G, const Indices& group, const F& f) {
  const Device device = sink.to.device();
  const Target to(sink);
  if (group) launch_column_sums(device, T, H, int(G), group.data(device), to, f);
  else launch_column_sums(device, T / G, H * G, 1, nullptr, to, f);
}

Tensor row_norm(const char* name, Form form, const ResidualSum& in, const Tensor& gain, const Tensor& bias,
                double eps, const Indices& group) {
  const Tensor residual = in.residual, u = in.u, x = u ? Tensor(u.shape(), u.device()) : residual;
  MB_CHECK(residual.shape() == x.shape(), "{}: residual {} and x {}", name, residual.shape(), x.shape());
  const int64_t T = x.rows(), H = x.cols(), G = gain ? gain.size() / std::max<int64_t>(H, 1) : 1;
  MB_CHECK(H > 0 && (!gain || gain.size() == G * H) && (!bias || bias.size() == G * H) && G > 0 &&
               (group || T % G == 0),
           "{}: x {}, gain {} and bias {} do not fit{}", name, x.shape(), gain ? gain.shape() : Shape{},
           bias ? bias.shape() : Shape{}, group ? "" : " (without groups the rows of gain and bias take turns)");
  MB_CHECK(!group || group.size() == T, "{}: x {} has {} rows but {} groups were given", name, x.shape(), T,
           group.size());
  for (const int32_t g : group)
    MB_CHECK(g >= 0 && g < G, "{}: group {} is outside of 0..{}", name, g, G - 1);

  const Choice choice{group.data(x.device()), G};
  const real *gamma = gain ? gain.data() : nullptr, *beta = bias ? bias.data() : nullptr;
  const Residual of{residual.data(), u ? u.data() : nullptr, in.p > 0, DropoutMask(in.p, in.key)};
  Tensor y(x.shape(), x.device()), mean({T}, x.device()), r({T}, x.device());
  launch_rows(x.device(), T, x.size(),
              RowNormForward{form, of, x.data(), gamma, beta, choice, y.data(), mean.data(), r.data(), int(H),
                             real(eps)});
  std::vector<Tensor> inputs = {residual};
  if (u) inputs.push_back(u);
  const int first = int(inputs.size());             // of the parameters
  if (gain) inputs.push_back(gain);
  if (bias) inputs.push_back(bias);
  return record(name, y, inputs, [=, summed = bool(u)](const Tensor& dy, Grads& g) {
    Target dx{nullptr, false}, du{nullptr, false};
    g(0, [&](Sink to) { dx = to; });
    if (summed) g(1, [&](Sink to) { du = to; });
    if (dx.at || du.at)
      launch_rows(x.device(), T, x.size(),
                  RowNormBackward{form, of.drop, of.mask, x.data(), dy.data(), gain ? gain.data() : nullptr, choice,
                                  mean.data(), r.data(), dx, du, int(H)});
    if (gain) g(first, [&](Sink d_gain) {
      const auto sum = [&](auto gradient) { sum_into(d_gain, T, H, G, group, gradient); };
      if (group || G == 1)
        sum(GainGradient<false>{x.data(), dy.data(), mean.data(), r.data(), form.subtracted, H, 1, 1});
      else
        sum(GainGradient<true>{x.data(), dy.data(), mean.data(), r.data(), form.subtracted, H * G, uint32_t(G),
                               uint32_t(H)});
    });
    if (bias) g(gain ? first + 1 : first, [&](Sink d_bias) {
      sum_into(d_bias, T, H, G, group, Element{dy.data(), group ? H : H * G});
    });
  });
}

}  // namespace

Tensor layer_norm(const ResidualSum& x, const Tensor& gain, const Tensor& bias, double eps, const Indices& group) {
  return row_norm("layer_norm", layer, x, gain, bias, eps, group);
}
Tensor variance_norm(const ResidualSum& x, const Tensor& gain, const Tensor& bias, double eps) {
  return row_norm("variance_norm", variance, x, gain, bias, eps, {});
}
Tensor rms_norm(const ResidualSum& x, const Tensor& gain, double eps) {
  return row_norm("rms_norm", rms, x, gain, {}, eps, {});
}

Tensor group_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, int64_t groups, double eps) {
  MB_CHECK(groups > 0 && x.cols() % groups == 0, "group_norm: the channels of x {} do not part into {} groups",
           x.shape(), groups);
  const Shape of_groups = {groups, x.cols() / groups};
  const Tensor cells = x.reshape({x.rows() * groups, x.cols() / groups});
  return row_norm("group_norm", layer, cells, gain.reshape(of_groups), bias.reshape(of_groups), eps, {})
      .reshape(x.shape());
}

}  // namespace minbert
