// Normalization of each channel by statistics of segments of x's rows, which are the whole batch
// (S = 1; all its parts, where it is cut among ranks) or the sentences.
//
//   Papers      batch_norm  Ioffe & Szegedy 2015   sentence_norm  Ulyanov et al. 2016, Wu & He 2018
//               power_norm  Shen, Yao, Gholami, Mahoney & Keutzer 2020, alg. 2, and its letters
//   Equation    y = xhat * weight + bias       xhat = (x - mu) rstd     rstd = 1/sqrt(sigma2 + eps)
//   Shapes      x, y [T,H]   weight, bias [H]   mu, sigma2, rstd [S,H]
//   Backward    e = dy * weight     dx = rstd (e - mean(e) - xhat mean(e xhat))
//               The means are over the elements that share a mu and a sigma2 computed from x. A
//               constant mu: no mean(e). A constant sigma2: no mean(e xhat); power_norm's is nu.
#include "engine/fill.h"
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/segments.h"

namespace minbert {
namespace {

struct Deviation {
  HD real operator()(int64_t i, const real* x, const real* mean) const { return x[i] - mean[i]; }
};
struct SquaredDeviation {
  HD real operator()(int64_t i, const real* x, const real* mean) const {
    return (x[i] - mean[i]) * (x[i] - mean[i]);
  }
};
// The statistics of a group of n channels, from the mean mu_i and variance s2_i of each channel i:
// mu = 1/n sum mu_i        s2 = 1/n sum (s2_i + (mu_i - mu)^2)
struct PoolChannels {
  template <class Team>
  HD void operator()(Team team, int n, real* mean, real* variance) const {
    real mu = team.sum(n, [=](int i) { return mean[i]; }) / real(n);
    mu += team.sum(n, [=](int i) { return mean[i] - mu; }) / real(n);            // corrected once
    const auto about_mu = [=](int i) { return variance[i] + (mean[i] - mu) * (mean[i] - mu); };
    const real s2 = team.sum(n, about_mu) / real(n);
    team.sync();
    team.each(n, [=](int i) {
      mean[i] = mu;
      variance[i] = s2;
    });
  }
};

struct Statistics {
  Tensor mean, variance;                            // [S,H]
};
Statistics statistics_of(const Tensor& x, const Segments& segments, int64_t groups) {
  const Tensor mean = segments.means(x, Element{}, x);
  const Tensor rest = segments.means(x, Deviation{}, x, Grouped{mean, segments.of_row});
  copy_or_add(rest, mean, true);                    // the mean, corrected once
  const Tensor variance =
      segments.means(x, SquaredDeviation{}, x, Grouped{mean, segments.of_row});
  const int64_t channels = x.cols() / groups;
  if (channels > 1)
    launch_rows({x.device(), segments.count * groups, channels}, PoolChannels{},
                RowView{mean.data(), channels}, RowView{variance.data(), channels});
  return {mean, variance};
}

struct Rstd {
  real eps;
  HD void operator()(real variance, real& r) const {
    r = real(1) / std::sqrt(nan_if_infinite(variance + eps));
  }
};
Tensor rstd_of(const Tensor& variance, double eps) {
  const Tensor r(variance.shape(), variance.device());
  launch_map(r.device(), r.size(), Rstd{real(eps)}, variance.data(), Target(r));
  return r;
}

// running = (1 - momentum) running + momentum factor now
struct MoveRunning {
  real keep, weight;
  HD void operator()(real& running, real now) const { running = keep * running + weight * now; }
};
void move_running(const Tensor& running, const Tensor& now, double momentum, double factor = 1) {
  const MoveRunning move{.keep = real(1 - momentum), .weight = real(momentum * factor)};
  launch_map(running.device(), running.size(), move, InPlace{running.data()}, now.data());
}

// nu = nu (1 - momentum Gamma) + momentum Lambda
struct MoveNu {
  real momentum;
  HD void operator()(real& nu, real Gamma, real Lambda) const {
    nu = nu * (1 - momentum * Gamma) + momentum * Lambda;
  }
};

// ---- forward and backward ----
struct Forward {
  template <class Team>
  HD void operator()(Team team, int H, const real* x, const real* mean, const real* rstd,
                     const real* weight, const real* bias, real* y) const {
    team.each(H, [=](int i) { y[i] = (x[i] - mean[i]) * rstd[i] * weight[i] + bias[i]; });
  }
};
struct BackwardOfX {
  template <class Team>
  HD void operator()(Team team, int H, const real* x, const real* dy, const real* mean,
                     const real* rstd, const real* weight, const real* mean_e,
                     const real* mean_e_xhat, Target dx) const {
    team.each(H, [=](int i) {
      const real e = product(dy[i], weight[i]);
      dx(i, rstd[i] * (e - mean_e[i] - (x[i] - mean[i]) * rstd[i] * mean_e_xhat[i]));
    });
  }
};
struct TimesNormalized {                            // dy xhat
  HD real operator()(int64_t i, const real* x, const real* mean, const real* rstd,
                     const real* dy) const {
    const real xhat = (x[i] - mean[i]) * rstd[i];
    return dy[i] * xhat;
  }
};
struct SquareOfNormalized {                         // xhat^2
  HD real operator()(int64_t i, const real* x, const real* mean, const real* rstd) const {
    const real xhat = (x[i] - mean[i]) * rstd[i];
    return xhat * xhat;
  }
};
// From a segment's sums of dy, or dy xhat: the mean of e, or e xhat, over a group's channels.
struct MeanOfGroup {
  const real* weight;
  SegmentSizes sizes;
  int64_t groups;
  template <class Team>
  HD void operator()(Team team, int channels, int64_t segment_and_group, const real* sums,
                     real* mean) const {
    const real* gamma = weight + segment_and_group % groups * channels;
    const real sum = team.sum(channels, [=](int i) { return gamma[i] * sums[i]; });
    const real mean_e = sum / (real(channels) * sizes[segment_and_group / groups]);
    team.each(channels, [=](int i) { mean[i] = mean_e; });
  }
};

// x, and what it is normalized by.
struct ColumnNorm {
  Tensor x, weight, mean, rstd;                     // mean, rstd [S,H], or [H] of one segment
  Segments segments;
  int64_t groups;                                   // of neighbouring channels

  Grouped mean_of_row() const { return {mean, segments.of_row}; }
  Grouped rstd_of_row() const { return {rstd, segments.of_row}; }

  Tensor mean_of_group(const Tensor& sums) const {
    const Tensor means(sums.shape(), x.device());
    const int64_t channels = x.cols() / groups;
    launch_rows({x.device(), segments.count * groups, channels},
                MeanOfGroup{weight.data(), segments.sizes(x.device()), groups}, RowNumber{},
                RowView{sums.data(), channels}, RowView{means.data(), channels});
    return means;
  }
};

struct MeansOfGradient {
  Tensor e, e_xhat;                                 // [S,H], or [H] of one segment
};
// y with its gradient. means(dy's sums, (dy xhat)'s sums) is called once in the backward.
template <class Means>
Tensor normalize(const char* name, const ColumnNorm& norm, const Tensor& bias, const Means& means) {
  const Tensor &x = norm.x, y(x.shape(), x.device(), name);
  launch_rows(x, Forward{}, x, norm.mean_of_row(), norm.rstd_of_row(), norm.weight, bias, y);
  return record(name, y, {x, norm.weight, bias}, [norm, means](const Tensor& dy, Grads& g) {
    const Segments& segments = norm.segments;
    const Tensor dy_sums = segments.sums(dy, Element{}, dy);
    const Tensor dy_xhat_sums = segments.sums(dy, TimesNormalized{}, norm.x, norm.mean_of_row(),
                                              norm.rstd_of_row(), dy);
    g(1, [&](Sink d_weight) { add_rows(dy_xhat_sums, d_weight); });
    g(2, [&](Sink d_bias) { add_rows(dy_sums, d_bias); });
    const MeansOfGradient mean = means(dy_sums, dy_xhat_sums);
    g(0, [&](Sink dx) {
      launch_rows(dy, BackwardOfX{}, norm.x, dy, norm.mean_of_row(), norm.rstd_of_row(),
                  norm.weight, Grouped{mean.e, segments.of_row},
                  Grouped{mean.e_xhat, segments.of_row}, dx);
    });
  });
}
// By statistics of x itself.
Tensor normalize(const char* name, const ColumnNorm& norm, const Tensor& bias) {
  return normalize(name, norm, bias, [norm](const Tensor& dy_sums, const Tensor& dy_xhat_sums) {
    return MeansOfGradient{norm.mean_of_group(dy_sums), norm.mean_of_group(dy_xhat_sums)};
  });
}

void check(const char* name, const Tensor& x, const std::vector<Tensor>& rows) {
  for (const Tensor& row : rows)
    MB_CHECK(row.cols() == x.cols() && row.rows() == 1,
             "{}: x {} has {} channels, but a parameter or statistic is {}", name, x.shape(),
             x.cols(), row.shape());
}

}  // namespace

Tensor sentence_norm(const Tensor& x, const Batch& batch, const Tensor& weight, const Tensor& bias,
                     int64_t groups, double eps) {
  check("sentence_norm", x, {weight, bias});
  MB_CHECK(x.rows() == batch.tokens(), "sentence_norm: x {} for a batch of {} tokens", x.shape(),
           batch.tokens());
  MB_CHECK(groups > 0 && x.cols() % groups == 0,
           "sentence_norm: the channels of x {} do not part into {} groups", x.shape(), groups);
  const Segments sentences(batch);
  const Statistics s = statistics_of(x, sentences, groups);
  const ColumnNorm norm{x, weight, s.mean, rstd_of(s.variance, eps), sentences, groups};
  return normalize("sentence_norm", norm, bias);
}

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_variance, double momentum,
                  double eps) {
  check("batch_norm", x, {weight, bias, running_mean, running_variance});
  const Segments whole(x.rows());
  const Statistics s = statistics_of(x, whole, x.cols());
  const double T = double(whole.rows);
  move_running(running_mean, s.mean, momentum);
  move_running(running_variance, s.variance, momentum, T > 1 ? T / (T - 1) : 1);
  const ColumnNorm norm{x, weight, s.mean, rstd_of(s.variance, eps), whole, x.cols()};
  return normalize("batch_norm", norm, bias);
}

Tensor channel_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                    const Tensor& variance, double eps) {
  check("channel_norm", x, {weight, bias, mean, variance});
  const Tensor mu = copy_of(mean);                  // for the backward: mean may move
  const Tensor zero = Tensor::zeros(mean.shape(), x.device());
  const ColumnNorm norm{x, weight, mu, rstd_of(variance, eps), Segments(x.rows()), x.cols()};
  return normalize("channel_norm", norm, bias, [zero](const Tensor&, const Tensor&) {
    return MeansOfGradient{zero, zero};
  });
}

// src/norm/hidden/power.cpp has the recurrences of psi2 and nu.
Tensor power_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& psi2,
                  const Tensor& nu, double momentum, double eps) {
  check("power_norm", x, {weight, bias, psi2, nu});
  const Tensor zero = Tensor::zeros(psi2.shape(), x.device());
  const ColumnNorm norm{x, weight, zero, rstd_of(psi2, eps), Segments(x.rows()), x.cols()};
  move_running(psi2, norm.segments.means(x, SquaredDeviation{}, x, zero), momentum);
  const auto means = [norm, zero, nu, momentum](const Tensor&, const Tensor& dy_xhat_sums) {
    const Tensor nu_before = copy_of(nu), Lambda = norm.mean_of_group(dy_xhat_sums);
    const Tensor Gamma = norm.segments.means(norm.x, SquareOfNormalized{}, norm.x,
                                             norm.mean_of_row(), norm.rstd_of_row());
    launch_map(nu.device(), nu.size(), MoveNu{real(momentum)}, InPlace{nu.data()}, Gamma.data(),
               Lambda.data());
    return MeansOfGradient{zero, nu_before};
  };
  return normalize("power_norm", norm, bias, means);
}

}  // namespace minbert
