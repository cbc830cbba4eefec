// Normalization of channels over rows: statistics of segments of rows, forward and backward.
//
//   Equation    y = xhat * weight + bias       xhat = (x - mu) / sqrt(s2 + eps)
//               mu, s2 [S,H]: a row for each segment of x, which is the batch (S = 1) or a sentence
//   Backward    e = dy * weight              dL/dx = (e - a - xhat b) / sqrt(s2 + eps)   a, b [S,H]
//               mu, s2 computed from x: a = mean of e, b = mean of e xhat over the segment's rows
//               mu, s2 constant: a = b = 0   PowerNorm: a = 0, b = its nu
//   Sums        over rows by launch_column_sums: in the order of the rows for any number of threads
#pragma once

#include "engine/arithmetic.h"
#include "engine/fill.h"
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert::columns {

// The rows that share statistics: the whole batch, or each sentence.
struct Segments {
  int64_t rows, count = 1;
  Indices offsets = {}, of_row = {};                // [S+1], [T]; empty: one segment
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
struct DivideBySize {
  const real* sums;
  SizeOf size;
  int64_t cols;
  Target means;
  HD void operator()(int64_t i) const { means(i, sums[i] / size(i / cols)); }
};
template <class F>
void add_means(const Segments& s, const Tensor& means, const F& f, bool add = false) {
  const Device device = means.device();
  const int64_t H = means.cols();
  const Tensor sums(means.shape(), device);
  launch_column_sums(device, s.rows, H, int(s.count), s.of_row.data(device), sums, f);
  launch_elements(device, sums.size(),
                  DivideBySize{.sums = sums.data(), .size = {s.offsets.data(device), s.rows},
                               .cols = H, .means = {means.data(), add}});
}

struct Rstd {
  real eps;
  HD void operator()(real variance, real& r) const {
    r = real(1) / std::sqrt(nan_if_infinite(variance + eps));
  }
};
inline Tensor rstd_of(const Tensor& variance, double eps) {
  const Tensor r(variance.shape(), variance.device());
  launch_map(r.device(), r.size(), Rstd{real(eps)}, variance.data(), Target(r));
  return r;
}

// running = (1 - momentum) running + momentum factor now
struct MoveRunning {
  real keep, weight;
  HD void operator()(real& running, real now) const { running = keep * running + weight * now; }
};
inline void move_running(const Tensor& running, const Tensor& now, double momentum,
                         double factor = 1) {
  const MoveRunning move{.keep = real(1 - momentum), .weight = real(momentum * factor)};
  launch_map(running.device(), running.size(), move, InPlace{running.data()}, now.data());
}

// ---- forward and backward, row by row ----
struct ColumnNormForward {
  const real *x, *mean, *rstd, *weight, *bias;
  SegmentOf segment;
  real* y;
  int H;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const int64_t s = segment(row) * h;
    const real *in = x + row * h, *mu = mean + s, *r = rstd + s, *gamma = weight, *beta = bias;
    real* out = y + row * h;
    team.each(h, [=](int i) { out[i] = (in[i] - mu[i]) * r[i] * gamma[i] + beta[i]; });
  }
};
struct ColumnNormBackward {
  const real *x, *dy, *mean, *rstd, *weight, *a, *b;
  SegmentOf segment;
  Target dx;
  int H;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int h = H;
    const int64_t s = segment(row) * h, begin = row * h;
    const real *in = x + begin, *d = dy + begin, *gamma = weight;
    const real *mu = mean + s, *r = rstd + s, *mean_e = a + s, *mean_ex = b + s;
    const Target result = dx;
    team.each(h, [=](int i) {
      const real e = product(d[i], gamma[i]);
      result(begin + i, r[i] * (e - mean_e[i] - (in[i] - mu[i]) * r[i] * mean_ex[i]));
    });
  }
};
struct TimesNormalized {                            // dy xhat; without dy: xhat^2
  const real *x, *dy, *mean, *rstd;
  SegmentOf segment;
  int64_t H;
  HD real operator()(int64_t row, int64_t i) const {
    const int64_t s = segment(row) * H + i;
    const real xhat = (x[row * H + i] - mean[s]) * rstd[s];
    return (dy ? dy[row * H + i] : xhat) * xhat;
  }
};

// From the sums of dy (or dy xhat) over each segment: the mean of e (or e xhat) over channels.
struct MeanOfGroup {
  const real *sums, *weight;
  SizeOf size;
  int channels;
  int64_t groups;
  real* mean;
  template <class Team>
  HD void operator()(Team team, int64_t cell) const {             // cell: segment * groups + group
    const int h = channels;
    const real *s = sums + cell * h, *gamma = weight + cell % groups * h;
    real* m = mean + cell * h;
    const real sum = team.sum(h, [=](int i) { return gamma[i] * s[i]; });
    const real total = sum / (real(h) * size(cell / groups));
    team.each(h, [=](int i) { m[i] = total; });
  }
};

// x and the statistics that normalize it, with the forward and the parts of the backward.
struct ColumnNorm {
  Tensor x, weight, mean, rstd;
  Segments segments;
  int64_t groups;
  int64_t H() const { return x.cols(); }
  SegmentOf segment() const { return {segments.of_row.data(x.device())}; }

  Tensor forward(const Tensor& bias) const {
    Tensor y(x.shape(), x.device());
    launch_rows(x, ColumnNormForward{.x = x.data(), .mean = mean.data(), .rstd = rstd.data(),
                                     .weight = weight.data(), .bias = bias.data(),
                                     .segment = segment(), .y = y.data(), .H = int(H())});
    return y;
  }
  template <class F>
  Tensor sums(const F& f) const {                   // [S,H], over each segment's rows
    const Tensor result(mean.shape(), x.device());
    const int32_t* of_row = segments.of_row.data(x.device());
    launch_column_sums(x.device(), x.rows(), H(), int(segments.count), of_row, result, f);
    return result;
  }
  TimesNormalized times_normalized(const real* dy) const {
    return {.x = x.data(), .dy = dy, .mean = mean.data(), .rstd = rstd.data(), .segment = segment(),
            .H = H()};
  }
  Tensor mean_of_group(const Tensor& sums) const {
    const Tensor m(sums.shape(), x.device());
    launch_rows(x.device(), segments.count * groups, m.size(),
                MeanOfGroup{.sums = sums.data(), .weight = weight.data(),
                            .size = {segments.offsets.data(x.device()), x.rows()},
                            .channels = int(H() / groups), .groups = groups, .mean = m.data()});
    return m;
  }
  void add_parameters(const Tensor& dy_sums, const Tensor& dyx_sums, Grads& g) const {
    g(1, [&](Sink d_weight) { add_rows(dyx_sums, d_weight); });
    g(2, [&](Sink d_bias) { add_rows(dy_sums, d_bias); });
  }
  void add_input(const Tensor& dy, const Tensor& a, const Tensor& b, Grads& g) const {
    g(0, [&](Sink dx) {
      launch_rows(x, ColumnNormBackward{.x = x.data(), .dy = dy.data(), .mean = mean.data(),
                                        .rstd = rstd.data(), .weight = weight.data(), .a = a.data(),
                                        .b = b.data(), .segment = segment(), .dx = dx,
                                        .H = int(H())});
    });
  }
};

inline void check(const char* name, const Tensor& x, const std::vector<Tensor>& rows) {
  for (const Tensor& row : rows)
    MB_CHECK(row.size() == x.cols(), "{}: x {} has {} channels, but a parameter or statistic is {}",
             name, x.shape(), x.cols(), row.shape());
}

}  // namespace minbert::columns
