// Softmax of each row.
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

struct Softmax {
  template <class Team>
  HD void operator()(Team team, int n, const real* x, real* y) const {
    softmax_row(team, n, x, y);
  }
};
// dL/dx_i = y_i (dy_i - sum_j dy_j y_j)
struct SoftmaxBackward {
  template <class Team>
  HD void operator()(Team team, int n, const real* y, const real* dy, Target dx) const {
    const real dot = team.sum(n, [=](int i) { return dy[i] * y[i]; });
    team.each(n, [=](int i) { dx(i, y[i] * (dy[i] - dot)); });
  }
};

}  // namespace

Tensor softmax(const Tensor& x) {
  MB_CHECK(x.cols() > 0, "softmax: no columns in {}", x.shape());
  const Tensor y(x.shape(), x.device());
  launch_rows(x, Softmax{}, x, y);
  return record("softmax", y, {x}, [y](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) { launch_rows(y, SoftmaxBackward{}, y, dy, dx); });
  });
}

}  // namespace minbert
