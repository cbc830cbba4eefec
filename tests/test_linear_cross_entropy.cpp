// The fused loss of a decoder against its composed form, cross_entropy(linear(x, W, b), labels).
#include <doctest/doctest.h>
#include <omp.h>

#include <array>

#include "engine/storage.h"
#include "gradcheck.h"
#include "minbert/ops.h"

namespace minbert::test {
namespace {

Indices labels_below(int64_t V, int64_t M) {
  Random random(1, "labels");
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < M; ++i) labels.push_back(int32_t(random.below(uint64_t(V))));
  return labels;
}

Inputs inputs(int64_t M, int64_t H, int64_t V) {
  Inputs x = {normal("x", {M, H}), normal("W", {V, H}), normal("b", {V})};
  for (Tensor& t : x) t.set_requires_grad(true);
  return x;
}

struct Result {
  real loss;
  std::vector<std::vector<real>> gradients;
};
Result fused(const Inputs& x, const Indices& labels) {
  const Tensor loss = linear_cross_entropy(x[0], x[1], x[2], labels);
  backward(loss, Tensor::full({}, real(-0.7)));
  return {loss.item(), take_gradients(x)};
}
Result composed(const Inputs& x, const Indices& labels) {
  const Tensor loss = cross_entropy(linear(x[0], x[1], x[2]), labels);
  backward(loss, Tensor::full({}, real(-0.7)));
  return {loss.item(), take_gradients(x)};
}

}  // namespace

TEST_CASE("linear_cross_entropy: equals its composed form, within a block of rows and over several") {
  for (const auto& [M, H, V] : {std::array<int64_t, 3>{1, 5, 37}, {3, 1, 1}, {512, 8, 37}, {1100, 5, 301}}) {
    INFO(M << " x " << H << " into " << V);
    const Inputs x = inputs(M, H, V);
    const Indices labels = labels_below(V, M);
    const Result a = fused(x, labels), b = composed(x, labels);
    CHECK(a.loss == doctest::Approx(b.loss).epsilon(is_double ? 1e-14 : 1e-6));
    // Sums over 1100 rows in another order. One class: both gradients are 0.
    for (size_t i = 0; i < x.size(); ++i)
      CHECK(difference(a.gradients[i], b.gradients[i]) < tolerance(1e-5, 1e-13));
  }
}

TEST_CASE("linear_cross_entropy: a label far below the largest logit costs its distance and no NaN") {
  Inputs x = {Tensor::full({1, 1}, 1), Tensor::from({2, 1}, std::vector<real>{1000, -1000}), Tensor::zeros({2})};
  for (Tensor& t : x) t.set_requires_grad(true);
  const Tensor loss = linear_cross_entropy(x[0], x[1], x[2], {1});
  CHECK(loss.item() == 2000);
  backward(loss);
  CHECK(x[0].grad().item() == 2000);
  CHECK(x[2].grad().values() == std::vector<real>{1, -1});
}

TEST_CASE("linear_cross_entropy: the same without a tape and each time, other threads within rounding") {
  const Inputs x = inputs(1100, 16, 301);
  const Indices labels = labels_below(301, 1100);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Result one = fused(x, labels);
  omp_set_num_threads(2);
  const Result two = fused(x, labels);
  omp_set_num_threads(threads);
  CHECK(two.loss == doctest::Approx(one.loss).epsilon(is_double ? 1e-14 : 1e-6));
  for (size_t i = 0; i < x.size(); ++i) CHECK(difference(one.gradients[i], two.gradients[i]) < tolerance(1e-6, 1e-14));

  const Result again = fused(x, labels);
  CHECK(again.gradients == fused(x, labels).gradients);                 // one number of threads: bit for bit
  const NoGrad no_tape;
  CHECK(linear_cross_entropy(x[0], x[1], x[2], labels).item() == again.loss);
  CHECK(tape_length() == 0);
}

TEST_CASE("linear_cross_entropy: holds a block of the logits, not all of them") {
  const Inputs x = inputs(4096, 2, 4000);
  const int64_t before = pool_statistics().bytes_held, logits = 4096 * 4000 * int64_t(sizeof(real));
  fused(x, labels_below(4000, 4096));
  CHECK(pool_statistics().bytes_held - before < logits / 4);
}

}  // namespace minbert::test
