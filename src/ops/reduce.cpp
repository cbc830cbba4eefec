// Sums and means: over all elements, over each row, each column, each sentence.
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/segments.h"

namespace minbert {
namespace {

// s = w sum_i x_i of a row        dL/dx_i = w ds
struct RowSum {
  real w;
  template <class Team>
  HD void operator()(Team team, int n, const real* x, real* s) const {
    const real total = w * team.sum(n, [=](int i) { return x[i]; });
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

Tensor sum_each_row(const char* name, const Tensor& x, const Grid& rows, Shape shape, real w) {
  MB_CHECK(rows.cols <= INT32_MAX, "{}: {} elements in one sum; {} are the most", name, rows.cols,
           INT32_MAX);
  const Tensor s(shape, x.device());
  launch_rows(rows, RowSum{w}, x, s);
  return record(name, s, {x}, [rows, w](const Tensor& ds, Grads& g) {
    g(0, [&](Sink dx) { launch_rows(rows, BroadcastGradient{w, 0}, ds, dx); });
  });
}

struct WeightedElement {
  real w;
  HD real operator()(int64_t col, const real* x) const { return w * x[col]; }
};

struct SentenceMeansBackward {                      // of a row of sentence b: dL/dx = dm_b / L_b
  SegmentSizes lengths;
  template <class Team>
  HD void operator()(Team team, int n, int32_t b, const real* dm, Target dx) const {
    const real w = real(1) / lengths[b];
    team.each(n, [=](int i) { dx(i, w * dm[i]); });
  }
};

}  // namespace

Tensor sum(const Tensor& x) { return sum_each_row("sum", x, {x.device(), 1, x.size()}, {}, 1); }
Tensor mean(const Tensor& x) {
  return sum_each_row("mean", x, {x.device(), 1, x.size()}, {}, real(1) / real(x.size()));
}
Tensor sum_rows(const Tensor& x) { return sum_each_row("sum_rows", x, x, {x.rows(), 1}, 1); }
Tensor mean_rows(const Tensor& x) {
  return sum_each_row("mean_rows", x, x, {x.rows(), 1}, real(1) / real(x.cols()));
}

// m_i = 1/T sum_r x_ri            dL/dx_ri = dm_i / T
Tensor mean_columns(const Tensor& x) {
  const real w = real(1) / real(x.rows());
  const Grid grid = x;
  const Tensor m({x.cols()}, x.device());
  launch_column_sums(x, {}, Sink{m, false}, WeightedElement{w}, x);
  return record("mean_columns", m, {x}, [grid, w](const Tensor& dm, Grads& g) {
    g(0, [&](Sink dx) { launch_rows(grid, BroadcastGradient{w, 1}, dm, dx); });
  });
}

// m_b = 1/L_b sum over the sentence's rows
Tensor mean_sentences(const Tensor& x, const Batch& batch) {
  MB_CHECK(x.rows() == batch.tokens(), "mean_sentences: x {} for a batch of {} tokens", x.shape(),
           batch.tokens());
  const Segments sentences(batch);
  const Grid grid = x;
  const Tensor m = sentences.means(x, Element{}, x);
  return record("mean_sentences", m, {x}, [sentences, grid](const Tensor& dm, Grads& g) {
    g(0, [&](Sink dx) {
      launch_rows(grid, SentenceMeansBackward{sentences.sizes(grid.device)}, sentences.of_row,
                  Grouped{dm, sentences.of_row}, dx);
    });
  });
}

}  // namespace minbert
