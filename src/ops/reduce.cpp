// Sums and means: over all elements, over each row, each column, each sentence.
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

// s_r = w sum_i x_ri              dL/dx_ri = w ds_r
struct RowSums {
  const real* x;
  int cols;
  real w;
  real* s;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const real* in = x + row * cols;
    const real total = w * team.sum(cols, [=](int i) { return in[i]; });
    real* out = s + row;
    team.each(1, [=](int) { *out = total; });
  }
};

// The backward of every sum: element (row, i) gets w times the gradient of its sum,
// ds[row * row_step + i * step].
struct BroadcastGradient {
  const real* ds;
  int cols;
  int64_t row_step, step;
  real w;
  Target dx;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const real* in = ds + row * row_step;
    const int64_t begin = row * cols, stride = step;
    const real weight = w;
    const Target result = dx;
    team.each(cols, [=](int i) { result(begin + i, weight * in[i * stride]); });
  }
};

Tensor sum_each_row(const char* name, const Tensor& x, int64_t rows, int64_t cols, Shape shape,
                    real w) {
  MB_CHECK(cols <= INT32_MAX, "{}: {} elements in one sum; {} are the most", name, cols, INT32_MAX);
  Tensor s(shape, x.device());
  launch_rows(x.device(), rows, x.size(), RowSums{x.data(), int(cols), w, s.data()});
  return record(name, s, {x}, [rows, cols, w](const Tensor& ds, Grads& g) {
    g(0, [&](Sink dx) {
      launch_rows(ds.device(), rows, rows * cols,
                  BroadcastGradient{.ds = ds.data(), .cols = int(cols), .row_step = 1, .step = 0,
                                    .w = w, .dx = dx});
    });
  });
}

// s_i = w sum_r x_ri              dL/dx_ri = w ds_i
struct WeightedElement {
  const real* x;
  int64_t cols;
  real w;
  HD real operator()(int64_t row, int64_t col) const { return w * x[row * cols + col]; }
};

Tensor sum_each_column(const char* name, const Tensor& x, real w) {
  const int64_t rows = x.rows(), cols = x.cols();
  Tensor s({cols}, x.device());
  launch_column_sums(x.device(), rows, cols, 1, nullptr, s, WeightedElement{x.data(), cols, w});
  return record(name, s, {x}, [rows, cols, w](const Tensor& ds, Grads& g) {
    g(0, [&](Sink dx) {
      launch_rows(ds.device(), rows, rows * cols,
                  BroadcastGradient{.ds = ds.data(), .cols = int(cols), .row_step = 0, .step = 1,
                                    .w = w, .dx = dx});
    });
  });
}

// m_b = 1/L_b sum over the sentence's rows        dL/dx_r = dm_b / L_b
struct SentenceMeans {
  const real* x;
  const int32_t* offsets;
  int cols;
  real* m;
  template <class Team>
  HD void operator()(Team team, int64_t b) const {
    const int begin = offsets[b], end = offsets[b + 1], h = cols;
    const real* in = x;
    real* out = m + b * h;
    team.each(h, [=](int i) {
      real s = 0;
      for (int64_t row = begin; row < end; ++row) s += in[row * h + i];
      out[i] = s / real(end - begin);
    });
  }
};
struct SentenceMeansBackward {
  const real* dm;
  const int32_t *offsets, *sentence;
  int cols;
  Target dx;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int b = sentence[row], h = cols;
    const real w = real(1) / real(offsets[b + 1] - offsets[b]);
    const real* in = dm + int64_t(b) * h;
    const Target result = dx;
    team.each(h, [=](int i) { result(row * h + i, w * in[i]); });
  }
};

}  // namespace

Tensor sum(const Tensor& x) { return sum_each_row("sum", x, 1, x.size(), {}, 1); }
Tensor mean(const Tensor& x) {
  return sum_each_row("mean", x, 1, x.size(), {}, real(1) / real(x.size()));
}
Tensor sum_rows(const Tensor& x) {
  return sum_each_row("sum_rows", x, x.rows(), x.cols(), {x.rows(), 1}, 1);
}
Tensor mean_rows(const Tensor& x) {
  return sum_each_row("mean_rows", x, x.rows(), x.cols(), {x.rows(), 1}, real(1) / real(x.cols()));
}
Tensor sum_columns(const Tensor& x) { return sum_each_column("sum_columns", x, 1); }
Tensor mean_columns(const Tensor& x) {
  return sum_each_column("mean_columns", x, real(1) / real(x.rows()));
}

Tensor mean_sentences(const Tensor& x, const Batch& batch) {
  MB_CHECK(x.rows() == batch.tokens(), "mean_sentences: x {} for a batch of {} tokens", x.shape(),
           batch.tokens());
  const int h = int(x.cols());
  Tensor m({batch.sentences(), h}, x.device());
  launch_rows(x.device(), m.rows(), x.size(),
              SentenceMeans{x.data(), batch.offsets.data(x.device()), h, m.data()});
  return record("mean_sentences", m, {x}, [batch, h](const Tensor& dm, Grads& g) {
    g(0, [&](Sink dx) {
      const Device device = dm.device();
      launch_rows(device, batch.tokens(), batch.tokens() * h,
                  SentenceMeansBackward{.dm = dm.data(), .offsets = batch.offsets.data(device),
                                        .sentence = batch.sentence.data(device), .cols = h,
                                        .dx = dx});
    });
  });
}

}  // namespace minbert
