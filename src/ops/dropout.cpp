// Dropout (Srivastava et al. 2014), in the inverted form: y_i = m_i x_i / (1-p), m_i = 0 with
// probability p, else 1.          dL/dx_i = dy_i m_i / (1-p)
//
// The mask is not stored: the backward computes it again from its key.
// Plain: dropout in examples/plain_bert.cpp
#include "engine/dropout_mask.h"
#include "engine/fill.h"
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

// y = m x / (1-p) (+ residual, if there is one). dx is the same function of dy, without residual.
struct ApplyMask {
  DropoutMask mask;
  template <class Team>
  HD void operator()(Team team, int n, int64_t row, const real* x, const real* residual,
                     real* y) const {
    if (residual)
      mask.each(team, n, row, [=](int i, real factor) { y[i] = residual[i] + factor * x[i]; });
    else mask.each(team, n, row, [=](int i, real factor) { y[i] = factor * x[i]; });
  }
};

Tensor applied(const Tensor& x, const Tensor& residual, const DropoutMask& mask, Tensor y = {}) {
  if (!y) y = Tensor(x.shape(), x.device());
  launch_rows(x, ApplyMask{mask}, RowNumber{}, x, residual, y);
  return y;
}
void gradient(const Tensor& dy, const DropoutMask& mask, const Sink& dx) {
  if (dx.add) copy_or_add(applied(dy, {}, mask), dx.tensor, true);
  else applied(dy, {}, mask, dx.tensor);
}

DropoutMask mask_for(const char* name, double p, RandomKey key) {
  MB_CHECK(p >= 0 && p < 1, "{}: the probability {} is outside of 0 <= p < 1", name, p);
  return DropoutMask(p, key);
}

}  // namespace

Tensor dropout(const Tensor& x, double p, RandomKey key) {
  if (p == 0) return x;
  const DropoutMask mask = mask_for("dropout", p, key);
  return record("dropout", applied(x, {}, mask), {x}, [mask](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) { gradient(dy, mask, dx); });
  });
}

Tensor dropout_add(const Tensor& residual, const Tensor& x, double p, RandomKey key) {
  MB_CHECK(residual.shape() == x.shape(), "dropout_add: residual {} and x {}", residual.shape(),
           x.shape());
  if (p == 0) return add(residual, x);
  const DropoutMask mask = mask_for("dropout_add", p, key);
  const Tensor y = applied(x, residual, mask);
  return record("dropout_add", y, {residual, x}, [mask](const Tensor& dy, Grads& g) {
    g(1, [&](Sink dx) { gradient(dy, mask, dx); });
    g.pass(0, dy);
  });
}

}  // namespace minbert
