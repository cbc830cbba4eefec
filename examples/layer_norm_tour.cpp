// A tour of LayerNorm's backward: one row, its gradient in four ways, and a row that a plain mean
// gets wrong. src/norm/hidden/README.md derives what is computed here.
#include <cmath>
#include <iomanip>
#include <iostream>

#include "minbert/autograd.h"
#include "minbert/ops.h"
#include "train/cli/command_line.h"

using namespace minbert;

namespace {

constexpr double eps = 1e-12;

Tensor row(const std::vector<real>& values) {
  return Tensor::from({1, int64_t(values.size())}, values);
}

void print(const char* what, const Tensor& t) {
  std::cout << std::left << std::setw(22) << what << std::right;
  for (const real v : t.values()) std::cout << std::setw(9) << v;
  std::cout << '\n';
}

// The equations as they stand in the paper.
Tensor composed(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
  const Tensor mu = mean_rows(x), sigma2 = mean_rows(square(x - mu));            // [CLN eq.2-3]
  return (x - mu) / sqrt(sigma2 + eps) * gamma + beta;                           // [CLN eq.1]
}

// dL/dx of L = sum(dy * f(x)), by the tape.
template <class F>
Tensor gradient(const Tensor& values, const Tensor& dy, const F& f) {
  Tensor x = values.detach();
  x.set_requires_grad(true);
  backward(f(x), dy);
  return x.grad();
}

// The same by differences: (L(x_i + h) - L(x_i - h)) / 2h.
template <class F>
Tensor differences(const Tensor& x, const Tensor& dy, const F& f) {
  const real h = real(0.01);
  std::vector<real> slopes;
  for (int64_t i = 0; i < x.size(); ++i) {
    std::vector<real> above = x.values(), below = above;
    above[size_t(i)] += h;
    below[size_t(i)] -= h;
    slopes.push_back((sum(dy * f(row(above))).item() - sum(dy * f(row(below))).item()) / (2 * h));
  }
  return row(slopes);
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine line("layer_norm_tour", "Shows LayerNorm's gradient of one row in four ways.");
  line.closing("Prints the four.", {""});
  line.parse(argc, argv);
  return run_program("layer_norm_tour", [] {
    std::cout << std::fixed << std::setprecision(2);
    const Tensor x = row({1, 2, 3, 6}), dy = row({1, -2, 3, real(0.5)});
    const Tensor gamma = row({1, 2, 1, real(0.5)}), beta = row({0, 1, 0, 0});
    const auto kernel = [&](const Tensor& t) { return layer_norm(t, gamma, beta, eps); };

    // 1. Forward: H = 4, mu = 3, sigma2 = 3.5.
    const Tensor mu = mean_rows(x), sigma2 = mean_rows(square(x - mu)),
                 rstd = 1 / sqrt(sigma2 + eps);
    const Tensor xhat = (x - mu) * rstd;
    print("x", x);
    print("mu, sigma2, rstd", row({mu.item(), sigma2.item(), rstd.item()}));
    print("xhat", xhat);
    print("y", kernel(x));

    // 2. Backward: dx_i = (e_i - mean(e) - xhat_i mean(e xhat)) rstd, where e_i = dy_i gamma_i.
    const Tensor e = dy * gamma;
    std::cout << '\n';
    print("dy", dy);
    print("dx by the formula", (e - mean_rows(e) - xhat * mean_rows(e * xhat)) * rstd);
    print("dx by the kernel", gradient(x, dy, kernel));
    print("dx, composed form",
          gradient(x, dy, [&](const Tensor& t) { return composed(t, gamma, beta); }));
    print("dx by differences", differences(x, dy, kernel));
    const Tensor one = Tensor::full({1, 4}, 1), zero = Tensor::zeros({1, 4});
    print("dx where e = 1",
          abs(gradient(x, one, [&](const Tensor& t) { return layer_norm(t, one, zero, eps); })));

    // 3. A row of 768 times 10.1. It has no variance, so y is beta = 0, if mu is 10.1.
    const std::vector<real> equal(768, real(10.1f));
    real total = 0;
    for (const real v : equal) total += v;
    const real d = equal[0] - total / 768;
    const Tensor corrected =
        layer_norm(row(equal), Tensor::full({768}, 1), Tensor::zeros({768}), eps);
    std::cout << "\n768 times 10.1, y:  with the sum of the row over 768 as mu "
              << d / std::sqrt(d * d + real(eps)) << ", with the corrected mean "
              << corrected.data()[0] << '\n';
    return 0;
  });
}
