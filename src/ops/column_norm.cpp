// Normalization of each channel over tokens: of the whole batch, or of each sentence.
//
//   Papers      batch_norm  Ioffe & Szegedy 2015   sentence_norm  Ulyanov et al. 2016, Wu & He 2018
//   Equations   in column_norm.h
#include "engine/launch.h"
#include "ops/column_norm.h"

namespace minbert {
namespace {

using namespace columns;

template <bool squared>
struct Deviation {
  const real *x, *mean;
  SegmentOf segment;
  int64_t H;
  HD real operator()(int64_t row, int64_t i) const {
    const real d = x[row * H + i] - mean[segment(row) * H + i];
    return squared ? d * d : d;
  }
};
// The statistics of a group of h channels, from the mean mu_i and variance s2_i of each channel i:
// mu = 1/h sum mu_i        s2 = 1/h sum (s2_i + (mu_i - mu)^2)
struct PoolChannels {
  real *mean, *variance;
  int channels;
  template <class Team>
  HD void operator()(Team team, int64_t group) const {
    const int h = channels;
    real *m = mean + group * h, *v = variance + group * h;
    real mu = team.sum(h, [=](int i) { return m[i]; }) / real(h);
    mu += team.sum(h, [=](int i) { return m[i] - mu; }) / real(h);
    const real s2 = team.sum(h, [=](int i) { return v[i] + (m[i] - mu) * (m[i] - mu); }) / real(h);
    team.sync();
    team.each(h, [=](int i) {
      m[i] = mu;
      v[i] = s2;
    });
  }
};

struct Statistics {
  Tensor mean, variance;                            // [S,H]
};
Statistics statistics_of(const Tensor& x, const Segments& s, int64_t groups) {
  const int64_t H = x.cols();
  const Tensor mean({s.count, H}, x.device()), variance({s.count, H}, x.device());
  const SegmentOf segment{s.of_row.data(x.device())};
  add_means(s, mean, Element{x.data(), H});
  const Tensor first = copy_of(mean);
  add_means(s, mean, Deviation<false>{x.data(), first.data(), segment, H}, true);  // corrected once
  add_means(s, variance, Deviation<true>{x.data(), mean.data(), segment, H});
  if (groups < H)
    launch_rows(x.device(), s.count * groups, mean.size(),
                PoolChannels{mean.data(), variance.data(), int(H / groups)});
  return {mean, variance};
}

// Normalization by statistics of x itself, through which the gradient passes.
Tensor with_own_statistics(const char* name, const ColumnNorm& norm, const Tensor& bias) {
  const std::vector<Tensor> inputs = {norm.x, norm.weight, bias};
  return record(name, norm.forward(bias), inputs, [norm](const Tensor& dy, Grads& g) {
    const Tensor dy_sums = norm.sums(Element{dy.data(), norm.H()});
    const Tensor dyx_sums = norm.sums(norm.times_normalized(dy.data()));
    norm.add_parameters(dy_sums, dyx_sums, g);
    norm.add_input(dy, norm.mean_of_group(dy_sums), norm.mean_of_group(dyx_sums), g);
  });
}

}  // namespace

Tensor sentence_norm(const Tensor& x, const Batch& batch, const Tensor& weight, const Tensor& bias,
                     int64_t groups, double eps) {
  check("sentence_norm", x, {weight, bias});
  MB_CHECK(x.rows() == batch.tokens(), "sentence_norm: x {} for a batch of {} tokens", x.shape(),
           batch.tokens());
  MB_CHECK(groups > 0 && x.cols() % groups == 0,
           "sentence_norm: the channels of x {} do not part into {} groups", x.shape(), groups);
  const Segments sentences{x.rows(), batch.sentences(), batch.offsets, batch.sentence};
  const Statistics s = statistics_of(x, sentences, groups);
  const ColumnNorm norm{x, weight, s.mean, rstd_of(s.variance, eps), sentences, groups};
  return with_own_statistics("sentence_norm", norm, bias);
}

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_variance, double momentum,
                  double eps) {
  check("batch_norm", x, {weight, bias, running_mean, running_variance});
  const Segments whole{x.rows()};
  const Statistics s = statistics_of(x, whole, x.cols());
  const double T = double(x.rows());
  move_running(running_mean, s.mean, momentum);
  move_running(running_variance, s.variance, momentum, T > 1 ? T / (T - 1) : 1);
  const ColumnNorm norm{x, weight, s.mean, rstd_of(s.variance, eps), whole, x.cols()};
  return with_own_statistics("batch_norm", norm, bias);
}

Tensor channel_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                    const Tensor& variance, double eps) {
  check("channel_norm", x, {weight, bias, mean, variance});
  const Tensor rstd = rstd_of(variance.reshape({1, x.cols()}), eps);
  const Tensor mu = copy_of(mean).reshape(rstd.shape());         // for the backward: mean may move
  const ColumnNorm norm{x, weight, mu, rstd, {x.rows()}, x.cols()};
  const Tensor y = norm.forward(bias);
  return record("channel_norm", y, {x, weight, bias}, [norm](const Tensor& dy, Grads& g) {
    const Tensor dy_sums = norm.sums(Element{dy.data(), norm.H()});
    norm.add_parameters(dy_sums, norm.sums(norm.times_normalized(dy.data())), g);
    const Tensor zero = Tensor::zeros(norm.mean.shape(), dy.device());
    norm.add_input(dy, zero, zero, g);
  });
}

}  // namespace minbert
