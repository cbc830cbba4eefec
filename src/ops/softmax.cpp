// Softmax and its logarithm, of each row.
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/softmax_row.h"

namespace minbert {
namespace {

struct Softmax {
  const real* in;
  real* out;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    softmax_row(team, cols, in + row * cols, out + row * cols);
  }
};
struct SoftmaxBackward {
  const real *out, *d_out;
  Target dx;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    softmax_row_backward(team, cols, out + row * cols, d_out + row * cols,
                         {dx.data + row * cols, dx.add});
  }
};

// y_i = x_i - m - log sum_j exp(x_j - m)
struct LogSoftmax {
  const real* in;
  real* out;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int n = cols;
    const real* x = in + row * n;
    real* y = out + row * n;
    const real m = team.max(n, [=](int i) { return x[i]; });
    const real log_sum = std::log(team.sum(n, [=](int i) { return std::exp(x[i] - m); }));
    team.each(n, [=](int i) { y[i] = x[i] - m - log_sum; });
  }
};
// dL/dx_i = dy_i - exp(y_i) sum_j dy_j
struct LogSoftmaxBackward {
  const real *out, *d_out;
  Target dx;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int n = cols;
    const real* y = out + row * n;
    const real* dy = d_out + row * n;
    const real total = team.sum(n, [=](int i) { return dy[i]; });
    const Target result = dx;
    team.each(n, [=](int i) { result(row * n + i, dy[i] - std::exp(y[i]) * total); });
  }
};

template <class ForwardProgram, class BackwardProgram>
Tensor by_row(const char* name, const Tensor& x) {
  MB_CHECK(x.cols() > 0, "{}: no columns in {}", name, x.shape());
  Tensor y(x.shape(), x.device());
  launch_rows(x, ForwardProgram{x.data(), y.data(), int(x.cols())});
  return record(name, y, {x}, [y](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) { launch_rows(y, BackwardProgram{y.data(), dy.data(), dx, int(y.cols())}); });
  });
}

}  // namespace

Tensor softmax(const Tensor& x) { return by_row<Softmax, SoftmaxBackward>("softmax", x); }
Tensor log_softmax(const Tensor& x) {
  return by_row<LogSoftmax, LogSoftmaxBackward>("log_softmax", x);
}

}  // namespace minbert
