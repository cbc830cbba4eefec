// PowerNorm in training: running quadratic means in the forward, an approximate backward.
//
//   Paper       Shen, Yao, Gholami, Mahoney & Keutzer 2020, alg. 2, and its letters;
//               src/norm/hidden/power.cpp
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
  HD void operator()(real& nu, real Gamma, real Lambda) const {
    nu = nu * (1 - momentum * Gamma) + momentum * Lambda;
  }
};

}  // namespace

Tensor power_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& psi2,
                  const Tensor& nu, double momentum, double eps) {
  check("power_norm", x, {weight, bias, psi2, nu});
  const int64_t H = x.cols();
  const Tensor zero = Tensor::zeros({1, H}, x.device()), psi2_of_batch({1, H}, x.device());
  const ColumnNorm norm{x, weight, zero, rstd_of(psi2.reshape({1, H}), eps), {x.rows()}, H};
  const Tensor y = norm.forward(bias);
  add_means(norm.segments, psi2_of_batch, Square{x.data(), H});
  move_running(psi2, psi2_of_batch, momentum);
  return record(
      "power_norm", y, {x, weight, bias}, [norm, nu, momentum](const Tensor& dy, Grads& g) {
        const Tensor dyx_sums = norm.sums(norm.times_normalized(dy.data()));
        norm.add_parameters(norm.sums(Element{dy.data(), norm.H()}), dyx_sums, g);
        norm.add_input(dy, norm.mean, nu, g);  // a = 0: the mean is a tensor of zeros
        const Tensor Lambda = norm.mean_of_group(dyx_sums), Gamma(Lambda.shape(), dy.device());
        add_means(norm.segments, Gamma, norm.times_normalized(nullptr));
        launch_map(dy.device(), nu.size(), MoveNu{real(momentum)}, InPlace{nu.data()}, Gamma.data(),
                   Lambda.data());
      });
}

}  // namespace minbert
