// What normalizations of channels share: statistics over segments of the rows, and the passes along the rows.
//
//   Equation    y = xhat * gain + bias      xhat = (x - mu) / sqrt(s2 + eps)
//               mu, s2 [S,H]: a row for each of the S segments of x, which are one (the batch) or its sentences
//   Backward    e = dy * gain               dL/dx = (e - a - xhat b) / sqrt(s2 + eps)       a, b [S,H]
//               where mu, s2 are x's own: a = mean of e, b = mean of e xhat over the rows that made them
//               where they are constants: a = b = 0       PowerNorm: a = 0, b = its nu
//   Sums        over rows by launch_column_sums: in the order of the rows, whatever the number of threads
#pragma once

#include "engine/arithmetic.h"
#include "engine/fill.h"
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert::columns {

// The rows that share statistics: all of them, or each sentence's.
struct Segments {
  int64_t rows, count = 1;
  Indices offsets = {}, of_row = {};                // [S+1], [T]; none: one segment
};
struct SegmentOf {
  const int32_t* of_row;
  HD int64_t operator()(int64_t row) const { return of_row ? of_row[row] : 0; }
};
struct SizeOf {
  const int32_t* offsets;
  int64_t rows;
  HD real operator()(int64_t s) const { return real(offsets ? offsets[s + 1] - offsets[s] : rows); }
};

// ---- statistics: means over each segment's rows ----
struct Divide {
  const real* sums;
  SizeOf size;
  int64_t cols;
  Target to;
  HD void operator()(int64_t i) const { to(i, sums[i] / size(i / cols)); }
};
template <class F>
void add_means(const Segments& s, const Tensor& means, const F& f, bool add = false) {
  const int64_t H = means.cols();
  const Tensor sums(means.shape(), means.device());
  launch_column_sums(means.device(), s.rows, H, int(s.count), s.of_row.data(means.device()), sums, f);
  launch_elements(means.device(), sums.size(),
                  Divide{sums.data(), {s.offsets.data(means.device()), s.rows}, H, {means.data(), add}});
}

struct InverseRoot {
  real eps;
  HD void operator()(real variance, real& r) const { r = real(1) / std::sqrt(nan_if_infinite(variance + eps)); }
};
inline Tensor inverse_root(const Tensor& variance, double eps) {
  const Tensor r(variance.shape(), variance.device());
  launch_map(r.device(), r.size(), InverseRoot{real(eps)}, variance.data(), Target(r));
  return r;
}

// running = keep running + weight now
struct Move {
  real keep, weight;
  HD void operator()(real& running, real now) const { running = keep * running + weight * now; }
};
inline void move_running(const Tensor& running, const Tensor& now, double momentum, double factor = 1) {
  launch_map(running.device(), running.size(), Move{real(1 - momentum), real(momentum * factor)},
             InPlace{running.data()}, now.data());
}

// ---- forward and backward, row by row ----
struct ColumnNormForward {
  const real *in, *mean, *inverse_root, *gain, *bias;
  SegmentOf segment;
  real* out;
  int H;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const int64_t at = segment(row) * h;
    const real *x = in + row * h, *mu = mean + at, *r = inverse_root + at, *gamma = gain, *beta = bias;
    real* y = out + row * h;
    team.each(h, [=](int i) { y[i] = (x[i] - mu[i]) * r[i] * gamma[i] + beta[i]; });
  }
};
struct ColumnNormBackward {
  const real *in, *d_out, *mean, *inverse_root, *gain, *mean_e, *mean_ex;                  // mean_e, mean_ex: a, b
  SegmentOf segment;
  Target dx;
  int H;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const int64_t at = segment(row) * h, begin = row * h;
    const real *x = in + begin, *dy = d_out + begin, *gamma = gain;
    const real *mu = mean + at, *r = inverse_root + at, *a = mean_e + at, *b = mean_ex + at;
    const Target to = dx;
    team.each(h, [=](int i) {
      to(begin + i, r[i] * (product(dy[i], gamma[i]) - a[i] - (x[i] - mu[i]) * r[i] * b[i]));
    });
  }
};
struct TimesNormalized {                            // dy xhat, or xhat^2
  const real *x, *dy, *mean, *inverse_root;
  SegmentOf segment;
  int64_t H;
  HD real operator()(int64_t row, int64_t i) const {
    const int64_t at = segment(row) * H + i;
    const real xhat = (x[row * H + i] - mean[at]) * inverse_root[at];
    return (dy ? dy[row * H + i] : xhat) * xhat;
  }
};

// From the sums of dy, or of dy xhat, over each segment's rows: the mean of e, or of e xhat, over its channels' group.
struct MeanOfGroup {
  const real *sums, *gain;
  SizeOf size;
  int channels;
  int64_t groups;
  real* mean;
  template <class Team>
  HD void operator()(Team team, int64_t cell) const {
    const int h = channels;
    const real *s = sums + cell * h, *gamma = gain + cell % groups * h;
    real* m = mean + cell * h;
    const real total = team.sum(h, [=](int i) { return gamma[i] * s[i]; }) / (real(h) * size(cell / groups));
    team.each(h, [=](int i) { m[i] = total; });
  }
};

// What a forward leaves to its backward.
struct Pass {
  Tensor x, gain, mean, inverse_root;
  Segments segments;
  int64_t groups;
  int64_t H() const { return x.cols(); }
  SegmentOf segment() const { return {segments.of_row.data(x.device())}; }

  Tensor forward(const Tensor& bias) const {
    Tensor y(x.shape(), x.device());
    launch_rows(x.device(), x.rows(), x.size(),
                ColumnNormForward{x.data(), mean.data(), inverse_root.data(), gain.data(), bias.data(), segment(),
                                  y.data(), int(H())});
    return y;
  }
  template <class F>
  Tensor sums(const F& f) const {                   // [S,H]
    const Tensor to(mean.shape(), x.device());
    launch_column_sums(x.device(), x.rows(), H(), int(segments.count), segments.of_row.data(x.device()), to,
                       f);
    return to;
  }
  TimesNormalized times_normalized(const real* dy) const {
    return {x.data(), dy, mean.data(), inverse_root.data(), segment(), H()};
  }
  Tensor mean_of_group(const Tensor& sums) const {
    const Tensor m(sums.shape(), x.device());
    launch_rows(x.device(), segments.count * groups, m.size(),
                MeanOfGroup{sums.data(), gain.data(), {segments.offsets.data(x.device()), x.rows()}, int(H() / groups),
                            groups, m.data()});
    return m;
  }
  void add_parameters(const Tensor& dy_sums, const Tensor& dyx_sums, Grads& g) const {
    int input = 1;
    for (const Tensor& sums : {dyx_sums, dy_sums})
      g(input++, [&](Sink to) {
        launch_column_sums(x.device(), sums.rows(), H(), 1, nullptr, to, Element{sums.data(), H()});
      });
  }
  void add_input(const Tensor& dy, const Tensor& a, const Tensor& b, Grads& g) const {
    g(0, [&](Sink dx) {
      launch_rows(x.device(), x.rows(), x.size(),
                  ColumnNormBackward{x.data(), dy.data(), mean.data(), inverse_root.data(), gain.data(), a.data(),
                                     b.data(), segment(), dx, int(H())});
    });
  }
};

inline void check(const char* name, const Tensor& x, const std::vector<Tensor>& rows) {
  for (const Tensor& row : rows)
    MB_CHECK(row.size() == x.cols(), "{}: x {} has {} channels, but a parameter or statistic is {}", name, x.shape(),
             x.cols(), row.shape());
}

}  // namespace minbert::columns
