// Softmax and the losses where their plain formulas overflow: exp(x) does beyond 88 in float, beyond 709 in double.
#include <doctest/doctest.h>

#include <cmath>

#include "gradcheck.h"

namespace minbert::test {
namespace {

constexpr real large = is_double ? 2000 : 200;

Tensor column(const std::vector<real>& values) { return Tensor::from({int64_t(values.size()), 1}, values); }

}  // namespace

TEST_CASE("losses: no logit is too large for softmax and cross-entropy") {
  Tensor x = Tensor::from(
      {3, 3}, std::vector<real>{large, large - 1, -large, -large, large, 0, -large, -large - 1, -2 * large});
  x.set_requires_grad(true);
  const std::vector<real> p = softmax(x.detach()).values();
  const double likelier = 1 / (1 + std::exp(-1.0));
  const double expected[] = {likelier, 1 - likelier, 0, 0, 1, 0, likelier, 1 - likelier, 0};
  for (size_t i = 0; i < 9; ++i) {
    INFO("softmax of row " << i / 3 << ", whose logits are " << x.data()[i / 3 * 3] << " " << x.data()[i / 3 * 3 + 1]
         << " " << x.data()[i / 3 * 3 + 2] << "; column " << i % 3);
    CHECK(double(p[i]) == doctest::Approx(expected[i]));
  }

  const Tensor L = cross_entropy(x, {1, 0, 0});     // log(1 + e), twice `large`, log(1 + 1/e)
  const double e = std::exp(1.0);
  CHECK(double(L.item()) == doctest::Approx((std::log(1 + e) + 2 * double(large) + std::log(1 + 1 / e)) / 3));
  backward(L);
  const std::vector<real> dx = x.grad().values();
  const double onehot[] = {0, 1, 0, 1, 0, 0, 1, 0, 0};
  for (size_t i = 0; i < 9; ++i) CHECK(double(dx[i]) == doctest::Approx((expected[i] - onehot[i]) / 3));
}

TEST_CASE("losses: binary cross-entropy is as large as a wrong logit, and keeps the digits of a small loss") {
  const auto loss = [](real logit, real target) {
    return double(binary_cross_entropy_with_logits(column({logit}), column({target})).item());
  };
  CHECK(loss(large, 0) == double(large));
  CHECK(loss(-large, 1) == double(large));
  CHECK(loss(large, 1) == 0);
  CHECK(loss(-large, 0) == 0);
  CHECK(loss(-30, 0) == doctest::Approx(std::exp(-30.0)).epsilon(1e-5).scale(0));      // log(1 + 1e-13)
  CHECK(loss(30, 1) == doctest::Approx(std::exp(-30.0)).epsilon(1e-5).scale(0));

  Tensor x = column({large, -large, large, -large}).set_requires_grad(true);
  backward(binary_cross_entropy_with_logits(x, column({0, 0, 1, 1})));
  CHECK(x.grad().values() == std::vector<real>{real(0.25), 0, 0, real(-0.25)});
}

TEST_CASE("losses: the cosine of a row that is zero, or shorter than the floor 1e-8, is a number with a slope") {
  const auto check = [](std::vector<real> u, double c, std::vector<double> du, std::vector<double> dv) {
    Tensor a = Tensor::from({1, 2}, u), b = Tensor::from({1, 2}, std::vector<real>{2, 0});
    const Tensor y = cosine_similarity(a.set_requires_grad(true), b.set_requires_grad(true));
    CHECK(double(y.item()) == doctest::Approx(c));
    backward(scale(y, 1), Tensor::full(y.shape(), 1));
    for (size_t i = 0; i < 2; ++i) {
      CHECK(double(a.grad().values()[i]) == doctest::Approx(du[i]).epsilon(1e-5));
      CHECK(double(b.grad().values()[i]) == doctest::Approx(dv[i]).epsilon(1e-5));
    }
  };
  check({real(3e-9), real(4e-9)}, 0.3, {1e8, 0}, {0, 0.2});       // |u| = 5e-9
  check({0, 0}, 0, {1e8, 0}, {0, 0});
  check({3, 4}, 0.6, {0.128, -0.096}, {0, 0.4});
}

}  // namespace minbert::test
