// Softmax and its logarithm, of each row.
#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

// y_i = exp(x_i - m) / sum_j exp(x_j - m), m = max_j x_j
struct Softmax {
  const real* in;
  real* out;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int n = cols;
    const real* x = in + row * n;
    real* y = out + row * n;
    const real m = team.max(n, [=](int i) { return x[i]; });
    const real s = team.sum(n, [=](int i) { return y[i] = std::exp(x[i] - m); });
    team.each(n, [=](int i) { y[i] /= s; });
  }
};
// dL/dx_i = y_i (dy_i - sum_j dy_j y_j)
struct SoftmaxBackward {
  const real *out, *d_out;
  Target dx;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const int n = cols;
    const real* y = out + row * n;
    const real* dy = d_out + row * n;
    const real dot = team.sum(n, [=](int i) { return dy[i] * y[i]; });
    const Target to = dx;
    team.each(n, [=](int i) { to(row * n + i, y[i] * (dy[i] - dot)); });
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
    const Target to = dx;
    team.each(n, [=](int i) { to(row * n + i, dy[i] - std::exp(y[i]) * total); });
  }
};

template <class ForwardProgram, class BackwardProgram>
Tensor by_row(const char* name, const Tensor& x) {
  MB_CHECK(x.cols() > 0, "{}: no columns in {}", name, x.shape());
  Tensor y(x.shape(), x.device());
  launch_rows(x.device(), x.rows(), x.size(), ForwardProgram{x.data(), y.data(), int(x.cols())});
  return record(name, y, {x}, [y](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      launch_rows(y.device(), y.rows(), y.size(),
                  BackwardProgram{y.data(), dy.data(), {dx.to.data(), dx.add}, int(y.cols())});
    });
  });
}

}  // namespace

Tensor softmax(const Tensor& x) { return by_row<Softmax, SoftmaxBackward>("softmax", x); }
Tensor log_softmax(const Tensor& x) { return by_row<LogSoftmax, LogSoftmaxBackward>("log_softmax", x); }

}  // namespace minbert
