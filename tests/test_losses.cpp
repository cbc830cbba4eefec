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
  Tensor x = Tensor::from({2, 3}, std::vector<real>{large, large - 1, -large, -large, large, 0});
  x.set_requires_grad(true);
  const std::vector<real> p = softmax(x.detach()).values();
  const double likelier = 1 / (1 + std::exp(-1.0));
  const double expected[] = {likelier, 1 - likelier, 0, 0, 1, 0};
  for (size_t i = 0; i < 6; ++i) CHECK(double(p[i]) == doctest::Approx(expected[i]));

  const Tensor L = cross_entropy(x, {1, 0});        // log(1 + e), and twice `large`
  CHECK(double(L.item()) == doctest::Approx((std::log(1 + std::exp(1.0)) + 2 * double(large)) / 2));
  backward(L);
  const std::vector<real> dx = x.grad().values();
  const double onehot[] = {0, 1, 0, 1, 0, 0};
  for (size_t i = 0; i < 6; ++i) CHECK(double(dx[i]) == doctest::Approx((expected[i] - onehot[i]) / 2));
}

TEST_CASE("losses: binary cross-entropy is as large as a wrong logit, and keeps the digits of a small loss") {
  const auto loss = [](real logit, real target) {
    return double(binary_cross_entropy_with_logits(column({logit}), column({target})).item());
  };
  CHECK(loss(large, 0) == double(large));
  CHECK(loss(-large, 1) == double(large));
  CHECK(loss(large, 1) == 0);
  CHECK(loss(-large, 0) == 0);
  CHECK(loss(-30, 0) == doctest::Approx(std::exp(-30.0)).epsilon(1e-5));      // log(1 + 1e-13)
  CHECK(loss(30, 1) == doctest::Approx(std::exp(-30.0)).epsilon(1e-5));

  Tensor x = column({large, -large, large, -large}).set_requires_grad(true);
  backward(binary_cross_entropy_with_logits(x, column({0, 0, 1, 1})));
  CHECK(x.grad().values() == std::vector<real>{real(0.25), 0, 0, real(-0.25)});
}

}  // namespace minbert::test
