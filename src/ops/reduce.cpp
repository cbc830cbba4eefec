// Sums and means: over all elements, over each row, each column, each sentence.
//
// A mean is corrected once by the mean of the differences from it, so that a norm's x - mu is 0
// where x is constant.
#include "engine/fill.h"
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/mean_of_row.h"

namespace minbert {
namespace {

struct RowSum {
  template <class Team>
  HD void operator()(Team team, int n, const real* x, real* s) const {
    const real total = team.sum(n, [=](int i) { return x[i]; });
    team.each(1, [=](int) { *s = total; });
  }
};
// Element i of a row gets w times the gradient of its sum, ds[i * step].
struct BroadcastGradient {
  real w;
  int step;
  template <class Team>
  HD void operator()(Team team, int n, const real* ds, Target dx) const {
    const real weight = w;
    const int stride = step;
    team.each(n, [=](int i) { dx(i, weight * ds[i * stride]); });
  }
};

// s = w sum_i x_i of a row        dL/dx_i = w ds
template <class Program>
Tensor reduce_rows(const char* name, const Tensor& x, const Grid& rows, Shape shape,
                   const Program& program, real w, SourceLine formula = SourceLine::current()) {
  MB_CHECK(rows.cols <= INT32_MAX, "{}: {} elements in one sum; {} are the most", name, rows.cols,
           INT32_MAX);
  const Tensor s(shape, x.device());
  launch_rows(rows, program, x, s);
  return record(name, s, {x}, [rows, w](const Tensor& ds, Grads& g) {
    g(0, [&](Sink dx) { launch_rows(rows, BroadcastGradient{w, 0}, ds, dx); });
  }, formula);
}

struct Difference {
  HD real operator()(int64_t i, const real* x, const real* mean) const { return x[i] - mean[i]; }
};
struct DivideRow {
  template <class Team>
  HD void operator()(Team team, int n, const real* x, real length, real* y) const {
    team.each(n, [=](int i) { y[i] = x[i] / length; });
  }
};

// The parts of x that have a mean each: the sentences of a batch, or one part of all rows.
struct Segments {
  int64_t rows;
  Indices offsets = {}, of_row = {};                // [S+1], [T]; empty: one segment
};
struct Lengths {                                    // a view: the number of segment s's rows
  const int32_t* offsets;
  int64_t rows;
  HD real operator[](int64_t s) const { return real(offsets ? offsets[s + 1] - offsets[s] : rows); }
};

// m_s = 1/L_s sum of the segment's L_s rows            dL/dx_r = dm_s / L_s of each row r in it
// x [T,H]   m [S,H], or [H] of one segment
Tensor mean_of_segments(const char* name, const Tensor& x, const Segments& segments, Shape shape,
                        SourceLine formula = SourceLine::current()) {
  const Lengths lengths{segments.offsets.data(x.device()), segments.rows};
  const Tensor m(shape, x.device()), rest(shape, x.device());
  launch_column_sums(x, segments.of_row, Sink{m, false}, Element{}, x);
  launch_rows(m, DivideRow{}, m, lengths, m);
  launch_column_sums(x, segments.of_row, Sink{rest, false}, Difference{}, x,
                     Grouped{m, segments.of_row});
  launch_rows(rest, DivideRow{}, rest, lengths, rest);
  copy_or_add(rest, m, true);
  const Grid grid = x;
  return record(name, m, {x}, [segments, grid, lengths](const Tensor& dm, Grads& g) {
    g(0, [&](Sink dx) {
      const Tensor share(dm.shape(), dm.device());
      launch_rows(dm, DivideRow{}, dm, lengths, share);
      launch_rows(grid, BroadcastGradient{1, 1}, Grouped{share, segments.of_row}, dx);
    });
  }, formula);
}

}  // namespace

Tensor sum(const Tensor& x) {
  return reduce_rows("sum", x, {x.device(), 1, x.size()}, {}, RowSum{}, 1);
}
Tensor mean(const Tensor& x) {
  return reduce_rows("mean", x, {x.device(), 1, x.size()}, {}, RowMean{}, 1 / real(x.size()));
}
Tensor sum_rows(const Tensor& x) {
  return reduce_rows("sum_rows", x, x, {x.rows(), 1}, RowSum{}, 1);
}
Tensor mean_rows(const Tensor& x) {
  return reduce_rows("mean_rows", x, x, {x.rows(), 1}, RowMean{}, 1 / real(x.cols()));
}
Tensor mean_columns(const Tensor& x) {
  return mean_of_segments("mean_columns", x, {x.rows()}, {x.cols()});
}
Tensor mean_sentences(const Tensor& x, const Batch& batch) {
  MB_CHECK(x.rows() == batch.tokens(), "mean_sentences: x {} for a batch of {} tokens", x.shape(),
           batch.tokens());
  return mean_of_segments("mean_sentences", x, {x.rows(), batch.offsets, batch.sentence},
                          {batch.sentences(), x.cols()});
}

}  // namespace minbert
