// PowerNorm in training: running quadratic means in the forward, an approximate backward.
//
//   Paper       Shen, Yao, Gholami, Mahoney & Keutzer 2020, alg. 2, and its letters; src/norm/hidden/power.cpp
//   Equations   in column_norm.h, with mu = 0, s2 = psi^2 and b = nu
#include "engine/launch.h"
#include "ops/column_norm.h"

namespace minbert {
namespace {

using namespace columns;

struct Square {
  const real* x;
  int64_t H;
  HD real operator()(int64_t row, int64_t i) const { return x[row * H + i] * x[row * H + i]; }
};

// nu = nu (1 - momentum Gamma) + momentum Lambda
struct MoveNu {
  real momentum;
  HD void operator()(real& nu, real Gamma, real Lambda) const { nu = nu * (1 - momentum * Gamma) + momentum * Lambda; }
};

}  // namespace

Tensor power_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, const Tensor& psi2, const Tensor& nu,
                  double momentum, double eps) {
  check("power_norm", x, {gain, bias, psi2, nu});
  const int64_t H = x.cols();
  const Tensor zero = Tensor::zeros({1, H}, x.device()), psi2_of_batch({1, H}, x.device());
  const Pass pass{x, gain, zero, inverse_root(psi2.reshape({1, H}), eps), {x.rows()}, H};
  const Tensor y = pass.forward(bias);
  add_means(pass.segments, psi2_of_batch, Square{x.data(), H});
  move_running(psi2, psi2_of_batch, momentum);
  return record("power_norm", y, {x, gain, bias}, [pass, nu, momentum](const Tensor& dy, Grads& g) {
    const Tensor dy_sums = pass.sums(Element{dy.data(), pass.H()}),
        dyx_sums = pass.sums(pass.times_normalized(dy.data()));
    pass.add_parameters(dy_sums, dyx_sums, g);
    pass.add_input(dy, pass.mean, nu, g);           // a = 0, b = nu
    const Tensor Lambda = pass.mean_of_group(dyx_sums), Gamma(Lambda.shape(), dy.device());
    add_means(pass.segments, Gamma, pass.times_normalized(nullptr));
    launch_map(dy.device(), nu.size(), MoveNu{real(momentum)}, InPlace{nu.data()}, Gamma.data(), Lambda.data());
  });
}

}  // namespace minbert
