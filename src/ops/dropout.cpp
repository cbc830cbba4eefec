// Dropout (Srivastava et al. 2014), in the inverted form: y_i = m_i x_i / (1-p), m_i = 0 with probability p,
// else 1.          dL/dx_i = dy_i m_i / (1-p)
//
// The mask is drawn again in the backward from its key; it is never stored.
#include "engine/dropout_mask.h"
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

// out = m x / (1-p) (+ residual). The gradient of x is the same function of the gradient of out.
struct ApplyMask {
  const real *x, *residual;                         // residual may be nullptr
  real* out;
  int cols;
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int64_t begin = row * cols;
    const real *from = x + begin, *also = residual ? residual + begin : nullptr;
    real* to = out + begin;
    if (also) mask.each(team, cols, row, [=](int i, real factor) { to[i] = also[i] + factor * from[i]; });
    else mask.each(team, cols, row, [=](int i, real factor) { to[i] = factor * from[i]; });
  }
};

Tensor apply(const Tensor& x, const Tensor& residual, const DropoutMask& mask) {
  const Tensor y(x.shape(), x.device());
  launch_rows(x.device(), x.rows(), x.size(),
              ApplyMask{x.data(), residual ? residual.data() : nullptr, y.data(), int(x.cols()), mask});
  return y;
}

DropoutMask mask_for(const char* name, double p, RandomKey key) {
  MB_CHECK(p >= 0 && p < 1, "{}: the probability {} is outside of 0 <= p < 1", name, p);
  return DropoutMask(p, key);
}

}  // namespace

Tensor dropout(const Tensor& x, double p, RandomKey key) {
  if (p == 0) return x;
  const DropoutMask mask = mask_for("dropout", p, key);
  return record("dropout", apply(x, {}, mask), {x}, [mask](const Tensor& dy, Grads& g) {
    if (g.wants(0)) g.pass(0, apply(dy, {}, mask));
  });
}

Tensor dropout_add(const Tensor& residual, const Tensor& x, double p, RandomKey key) {
  MB_CHECK(residual.shape() == x.shape(), "dropout_add: residual {} and x {}", residual.shape(), x.shape());
  if (p == 0) return add(residual, x);
  const DropoutMask mask = mask_for("dropout_add", p, key);
  return record("dropout_add", apply(x, residual, mask), {residual, x}, [mask](const Tensor& dy, Grads& g) {
    if (g.wants(1)) g.pass(1, apply(dy, {}, mask));
    g.pass(0, dy);
  });
}

}  // namespace minbert
