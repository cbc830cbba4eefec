// Matrix products, and the linear layer made of one.
#include "engine/gemm.h"
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {

// c = a b         dL/da = dc b^T   dL/db = a^T dc             a [m,k]  b [k,n]  c [m,n]
Tensor matmul(const Tensor& a, const Tensor& b) {
  return record("matmul", gemm_nn(a, b), {a, b}, [a, b](const Tensor& dc, Grads& g) {
    g(0, [&](Sink da) { gemm_nt(dc, b, da); });
    g(1, [&](Sink db) { gemm_tn(a, dc, db); });
  });
}

// c = a b^T       dL/da = dc b     dL/db = dc^T a             a [m,k]  b [n,k]  c [m,n]
Tensor matmul_nt(const Tensor& a, const Tensor& b) {
  return record("matmul_nt", gemm_nt(a, b), {a, b}, [a, b](const Tensor& dc, Grads& g) {
    g(0, [&](Sink da) { gemm_nn(dc, b, da); });
    g(1, [&](Sink db) { gemm_tn(dc, a, db); });
  });
}

// c = a^T b       dL/da = b dc^T   dL/db = a dc               a [k,m]  b [k,n]  c [m,n]
Tensor matmul_tn(const Tensor& a, const Tensor& b) {
  return record("matmul_tn", gemm_tn(a, b), {a, b}, [a, b](const Tensor& dc, Grads& g) {
    g(0, [&](Sink da) { gemm_nt(b, dc, da); });
    g(1, [&](Sink db) { gemm_nn(a, dc, db); });
  });
}

namespace {
struct FillRows {
  const real* bias;
  real* y;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const real* b = bias;
    real* to = y + row * cols;
    team.each(cols, [=](int i) { to[i] = b[i]; });
  }
};
struct Element {
  const real* x;
  int64_t cols;
  HD real operator()(int64_t row, int64_t col) const { return x[row * cols + col]; }
};
}  // namespace

// y = x W^T + b   dL/dx = dy W   dL/dW = dy^T x   dL/db = sum of dy's rows        x [T,in]  W [out,in]  b [out]  y [T,out]
// The rows start as b and the product is added to them: the bias costs no pass over y of its own.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  MB_CHECK(x.cols() == weight.cols() && weight.rows() == bias.size(), "linear: x {}, weight {} and bias {} do not fit",
           x.shape(), weight.shape(), bias.shape());
  const int64_t rows = x.rows(), out = weight.rows();
  Tensor y({rows, out}, x.device());
  launch_rows(x.device(), rows, y.size(), FillRows{bias.data(), y.data(), int(out)});
  gemm_nt(x, weight, {y, true});
  return record("linear", y, {x, weight, bias}, [x, weight, rows, out](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) { gemm_nn(dy, weight, dx); });
    g(1, [&](Sink dW) { gemm_tn(dy, x, dW); });
    g(2, [&](Sink db) {
      launch_column_sums(dy.device(), rows, out, 1, nullptr, {db.to.data(), db.add}, Element{dy.data(), out});
    });
  });
}

Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias) { return gelu(linear(x, weight, bias)); }

}  // namespace minbert
