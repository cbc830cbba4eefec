// Functions of two tensors, element by element, for binary.cpp and the losses. The second may be
// one row or one column: it is broadcast to all rows or columns of the first, and its gradient sums
// over them.
//
//   c = f(a, b)     dL/da = dc df/da     dL/db = dc df/db
//
// F is a struct with f, with df/da as da, and with df/db as db. Without da, df/da is 1.
#pragma once

#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {

// Element i of a row of a meets element i * step of b's row; step is 0 where b is a column, else 1.
inline int step_of(const char* name, const Tensor& a, const Tensor& b) {
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
    if constexpr (first) return dc[i] * F::da(x, y);
    else return dc[i] * F::db(x, y);
  }
};
// One gradient for each element or, if `sums`, for each row
template <class S, bool sums>
struct WriteSlope {
  S slope;
  template <class Team>
  HD void operator()(Team team, int n, const real* a, const real* b, const real* dc,
                     Target gradient) const {
    const S s = slope;
    if (!sums) return team.each(n, [=](int i) { gradient(i, s(i, a, b, dc)); });
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
  return record(name, c, {a, b}, [a, b, step](const Tensor& dc, Grads& g) {
    g(1, [&](Sink db) {
      using S = Slope<F, false>;
      if (b.shape() == a.shape()) launch_rows(a, WriteSlope<S, false>{step}, a, b, dc, db);
      else if (step) launch_column_sums(a, {}, db, S{step}, a, b, dc);
      else launch_rows(a, WriteSlope<S, true>{step}, a, b, dc, db);
    });
    if constexpr (requires { F::da; })
      g(0, [&](Sink da) {
        launch_rows(a, WriteSlope<Slope<F, true>, false>{step}, a, b, dc, da);
      });
    else g.pass(0, dc);
  }, formula);
}

}  // namespace minbert
