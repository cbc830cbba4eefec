// Sums, differences, products and quotients of two tensors. The second may be one row or one
// column: it is broadcast to all rows or columns of the first, and its gradient sums over them.
#include <type_traits>

#include "engine/arithmetic.h"
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

// c = f(a, b)     dL/da = dc df/da     dL/db = dc df/db
struct Add {
  HD static real f(real a, real b) { return a + b; }
  HD static real da(real, real) { return 1; }
  HD static real db(real, real) { return 1; }
};
struct Sub {
  HD static real f(real a, real b) { return a - b; }
  HD static real da(real, real) { return 1; }
  HD static real db(real, real) { return -1; }
};
struct Mul {
  HD static real f(real a, real b) { return a * b; }
  HD static real da(real, real b) { return b; }
  HD static real db(real a, real) { return a; }
};
struct Div {
  HD static real f(real a, real b) { return a / nan_if_infinite(b); }
  HD static real da(real, real b) { return 1 / nan_if_infinite(b); }
  HD static real db(real a, real b) { return -f(a, b) / b; }
};

// Element (row, i) of a meets b[row * row_step + i * step].
struct Broadcast {
  int64_t row_step;                             // cols: b has a's shape; 0: b is a row; 1: a column
  int step;                                     // 1, or 0 for a column
};

Broadcast broadcast_of(const char* name, const Tensor& a, const Tensor& b) {
  if (b.shape() == a.shape()) return {a.cols(), 1};
  if (b.size() == a.cols() && b.cols() == a.cols()) return {0, 1};
  MB_CHECK(b.size() == a.rows() && b.cols() == 1,
           "{}: a {} and b {} do not fit: b must have a's shape, or be one row of it, or one "
           "column [rows, 1]",
           name, a.shape(), b.shape());
  return {1, 0};
}

template <class F>
struct BinaryForward {
  const real *a, *b;
  real* c;
  int cols;
  Broadcast broadcast;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const real* x = a + row * cols;
    const real* y = b + row * broadcast.row_step;
    real* z = c + row * cols;
    const int step = broadcast.step;
    if (step) team.each(cols, [=](int i) { z[i] = F::f(x[i], y[i]); });
    else team.each(cols, [=](int i) { z[i] = F::f(x[i], y[0]); });
  }
};

// The contribution of element (row, i) to the gradient of a (first) or of b.
template <class F, bool first>
struct Slope {
  const real *a, *b, *dc;
  int64_t cols;
  Broadcast broadcast;
  HD real operator()(int64_t row, int64_t i) const {
    const real x = a[row * cols + i], y = b[row * broadcast.row_step + i * broadcast.step];
    return dc[row * cols + i] * (first ? F::da(x, y) : F::db(x, y));
  }
};
template <class S>
struct WriteSlope {                                 // one gradient for each element
  S slope;
  Target gradient;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const S s = slope;
    const Target result = gradient;
    team.each(int(s.cols), [=](int i) { result(row * s.cols + i, s(row, i)); });
  }
};
template <class S>
struct SumSlope {                                   // one gradient for each row
  S slope;
  Target gradient;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const S s = slope;
    const real total = team.sum(int(s.cols), [=](int i) { return s(row, i); });
    const Target result = gradient;
    team.each(1, [=](int) { result(row, total); });
  }
};

template <class F>
Tensor binary(const char* name, const Tensor& a, const Tensor& b) {
  const Broadcast broadcast = broadcast_of(name, a, b);
  Tensor c(a.shape(), a.device());
  launch_rows(a, BinaryForward<F>{a.data(), b.data(), c.data(), int(a.cols()), broadcast});
  constexpr bool plain = std::is_same_v<F, Add>;    // the gradient of a is dc itself
  return record(name, c, {a, b}, [a, b, broadcast](const Tensor& dc, Grads& g) {
    const bool same = b.shape() == a.shape();
    const Device device = dc.device();
    g(1, [&](Sink db) {
      const Slope<F, false> slope{a.data(), b.data(), dc.data(), a.cols(), broadcast};
      if (same) launch_rows(a, WriteSlope<decltype(slope)>{slope, db});
      else if (broadcast.step)
        launch_column_sums(device, a.rows(), a.cols(), 1, nullptr, db, slope);
      else launch_rows(a, SumSlope<decltype(slope)>{slope, db});
    });
    if (plain) return g.pass(0, dc);
    g(0, [&](Sink da) {
      const Slope<F, true> slope{a.data(), b.data(), dc.data(), a.cols(), broadcast};
      launch_rows(a, WriteSlope<decltype(slope)>{slope, da});
    });
  });
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return binary<Add>("add", a, b); }
Tensor sub(const Tensor& a, const Tensor& b) { return binary<Sub>("sub", a, b); }
Tensor mul(const Tensor& a, const Tensor& b) { return binary<Mul>("mul", a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return binary<Div>("div", a, b); }

}  // namespace minbert
