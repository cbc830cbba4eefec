// Normalization of each channel over tokens: of the whole batch, or of each sentence.
//
//   Papers      batch_norm  Ioffe & Szegedy 2015    sentence_norm  Ulyanov et al. 2016, Wu & He 2018
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
// Channels i of one group, each with mean mu_i and variance s2_i over as many tokens:
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
    team.each(h, [=](int i) { m[i] = mu, v[i] = s2; });
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
  add_means(s, mean, Deviation<false>{x.data(), first.data(), segment, H}, true);          // corrected once
  add_means(s, variance, Deviation<true>{x.data(), mean.data(), segment, H});
  if (groups < H)
    launch_rows(x.device(), s.count * groups, mean.size(),
                PoolChannels{mean.data(), variance.data(), int(H / groups)});
  return {mean, variance};
}

// The statistics are x's own, and the gradient passes through them.
Tensor own_statistics(const char* name, const Pass& pass, const Tensor& bias) {
  return record(name, pass.forward(bias), {pass.x, pass.gain, bias}, [pass](const Tensor& dy, Grads& g) {
    const Tensor dy_sums = pass.sums(Element{dy.data(), pass.H()}),
        dyx_sums = pass.sums(pass.times_normalized(dy.data()));
    pass.add_parameters(dy_sums, dyx_sums, g);
    pass.add_input(dy, pass.mean_of_group(dy_sums), pass.mean_of_group(dyx_sums), g);
  });
}

}  // namespace

Tensor sentence_norm(const Tensor& x, const Batch& batch, const Tensor& gain, const Tensor& bias, int64_t groups,
                     double eps) {
  check("sentence_norm", x, {gain, bias});
  MB_CHECK(x.rows() == batch.tokens(), "sentence_norm: x {} for a batch of {} tokens", x.shape(), batch.tokens());
  MB_CHECK(groups > 0 && x.cols() % groups == 0, "sentence_norm: the channels of x {} do not part into {} groups",
           x.shape(), groups);
  const Segments sentences{x.rows(), batch.sentences(), batch.offsets, batch.sentence};
  const Statistics s = statistics_of(x, sentences, groups);
  return own_statistics("sentence_norm", {x, gain, s.mean, inverse_root(s.variance, eps), sentences, groups}, bias);
}

Tensor batch_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_variance, double momentum, double eps) {
  check("batch_norm", x, {gain, bias, running_mean, running_variance});
  const Segments whole{x.rows()};
  const Statistics s = statistics_of(x, whole, x.cols());
  const double T = double(x.rows());
  move_running(running_mean, s.mean, momentum);
  move_running(running_variance, s.variance, momentum, T > 1 ? T / (T - 1) : 1);
  return own_statistics("batch_norm", {x, gain, s.mean, inverse_root(s.variance, eps), whole, x.cols()}, bias);
}

Tensor channel_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, const Tensor& mean,
                    const Tensor& variance, double eps) {
  check("channel_norm", x, {gain, bias, mean, variance});
  const Tensor r = inverse_root(variance.reshape({1, x.cols()}), eps);
  const Tensor mu = copy_of(mean).reshape(r.shape());            // as it is now
  const Pass pass{x, gain, mu, r, {x.rows()}, x.cols()};
  return record("channel_norm", pass.forward(bias), {x, gain, bias}, [pass](const Tensor& dy, Grads& g) {
    pass.add_parameters(pass.sums(Element{dy.data(), pass.H()}), pass.sums(pass.times_normalized(dy.data())), g);
    const Tensor none = Tensor::zeros(pass.mean.shape(), dy.device());
    pass.add_input(dy, none, none, g);
  });
}

}  // namespace minbert
