// Sums, differences, products and quotients of two tensors. One of them may be one row or one
// column: it is broadcast to all rows or columns of the other, and its gradient sums over them.
#include <type_traits>

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

// Element i of a row of a meets element i * step of b's row; step is 0 where b is a column, else 1.
int step_of(const char* name, const Tensor& a, const Tensor& b) {
  if (b.shape() == a.shape() || (b.size() == a.cols() && b.cols() == a.cols())) return 1;
  MB_CHECK(b.size() == a.rows() && b.cols() == 1,
           "{}: {} and {} do not fit: one must have the other's shape, or be one row of it, or "
           "one column [rows, 1]",
           name, a.shape(), b.shape());
  return 0;
}

template <class F>
struct BinaryForward {
  int step;
  template <class Team>
  HD void operator()(Team team, int n, const real* a, const real* b, real* c) const {
    if (step) team.each(n, [=](int i) { c[i] = F::f(a[i], b[i]); });
    else team.each(n, [=](int i) { c[i] = F::f(a[i], b[0]); });
  }
};

// The contribution of element i of a row to the gradient of a (first) or of b.
template <class F, bool first>
struct Slope {
  int step;
  HD real operator()(int64_t i, const real* a, const real* b, const real* dc) const {
    const real x = a[i], y = b[i * step];
    return dc[i] * (first ? F::da(x, y) : F::db(x, y));
  }
};
template <class S>
struct WriteSlope {                                 // one gradient for each element
  S slope;
  template <class Team>
  HD void operator()(Team team, int n, const real* a, const real* b, const real* dc,
                     Target gradient) const {
    const S s = slope;
    team.each(n, [=](int i) { gradient(i, s(i, a, b, dc)); });
  }
};
template <class S>
struct SumSlope {                                   // one gradient for each row
  S slope;
  template <class Team>
  HD void operator()(Team team, int n, const real* a, const real* b, const real* dc,
                     Target gradient) const {
    const S s = slope;
    const real total = team.sum(n, [=](int i) { return s(i, a, b, dc); });
    team.each(1, [=](int) { gradient(0, total); });
  }
};

template <class F>
Tensor binary(const char* name, const Tensor& a, const Tensor& b,
              SourceLine formula = SourceLine::current()) {
  const int step = step_of(name, a, b);
  const Tensor c(a.shape(), a.device());
  launch_rows(a, BinaryForward<F>{step}, a, b, c);
  constexpr bool plain = std::is_same_v<F, Add>;    // the gradient of a is dc itself
  return record(name, c, {a, b}, [a, b, step](const Tensor& dc, Grads& g) {
    g(1, [&](Sink db) {
      using S = Slope<F, false>;
      if (b.shape() == a.shape()) launch_rows(a, WriteSlope<S>{step}, a, b, dc, db);
      else if (step) launch_column_sums(a, {}, db, S{step}, a, b, dc);
      else launch_rows(a, SumSlope<S>{step}, a, b, dc, db);
    });
    if (plain) return g.pass(0, dc);
    g(0, [&](Sink da) { launch_rows(a, WriteSlope<Slope<F, true>>{step}, a, b, dc, da); });
  }, formula);
}

}  // namespace

// Where a is the smaller one, b stands first: a - b = -b + a, a / b = b^-1 a.
Tensor add(const Tensor& a, const Tensor& b) {
  return a.size() < b.size() ? binary<Add>("add", b, a) : binary<Add>("add", a, b);
}
Tensor sub(const Tensor& a, const Tensor& b) {
  return a.size() < b.size() ? binary<Add>("sub", -b, a) : binary<Sub>("sub", a, b);
}
Tensor mul(const Tensor& a, const Tensor& b) {
  return a.size() < b.size() ? binary<Mul>("mul", b, a) : binary<Mul>("mul", a, b);
}
Tensor div(const Tensor& a, const Tensor& b) {
  return a.size() < b.size() ? binary<Mul>("div", pow(b, -1), a) : binary<Div>("div", a, b);
}

}  // namespace minbert
