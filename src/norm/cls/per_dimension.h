// What the norms of [CLS] compute from constants: y_bi = f(x_bi, i), linear in x for each dimension i.
//
//   struct F { HD real f(real x, int i) const;  HD real slope(int i) const; };        dL/dx_bi = dL/dy_bi slope(i)
#pragma once

#include "engine/launch.h"
#include "minbert/autograd.h"

namespace minbert {

template <class F>
struct PerDimension {
  F of;
  const real* x;
  real* y;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const F g = of;
    const real* from = x + row * cols;
    real* to = y + row * cols;
    team.each(cols, [=](int i) { to[i] = g.f(from[i], i); });
  }
};
template <class F>
struct PerDimensionBackward {
  F of;
  const real* dy;
  int cols;
  Target dx;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const F g = of;
    const real* from = dy + row * cols;
    const int64_t begin = row * cols;
    const Target to = dx;
    team.each(cols, [=](int i) { to(begin + i, from[i] * g.slope(i)); });
  }
};

// constants: the tensors that f reads
template <class F>
Tensor per_dimension(const char* name, const Tensor& x, const F& f, const std::vector<Tensor>& constants) {
  MB_CHECK(x.cols() == constants[0].size(), "{}: x {} and statistics {} do not fit", name, x.shape(),
           constants[0].shape());
  const int cols = int(x.cols());
  const Tensor y(x.shape(), x.device());
  launch_rows(x.device(), x.rows(), x.size(), PerDimension<F>{f, x.data(), y.data(), cols});
  return record(name, y, {x}, [f, constants, cols](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      launch_rows(dy.device(), dy.rows(), dy.size(),
                  PerDimensionBackward<F>{f, dy.data(), cols, dx});
    });
  });
}

}  // namespace minbert
