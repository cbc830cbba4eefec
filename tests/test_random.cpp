// Random numbers: Philox against its published vectors, deviates against their moments, dropout's rate.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "gradcheck.h"
#include "minbert/nn.h"
#include "minbert/ops.h"
#include "minbert/random.h"
#include "minbert/tokenizer.h"
#include "threads.h"

namespace minbert::test {

TEST_CASE("random: Philox4x32-10 gives the known answers of Random123") {
  struct Answer {
    PhiloxBlock counter;
    uint32_t key0, key1;
    PhiloxBlock expected;
  };
  const Answer answers[] = {                        // Random123's kat_vectors, the lines of philox4x32 10
      {{{0, 0, 0, 0}}, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffff, 0xffffffff,
       {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0,
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (const Answer& a : answers) {
    const PhiloxBlock got = philox(a.counter, a.key0, a.key1);
    for (int w = 0; w < 4; ++w) CHECK(got.word[w] == a.expected.word[w]);
  }
}

TEST_CASE("random: a stream is named by FNV-1a and depends on seed and name alone") {
  CHECK(stream_of("") == 0xcbf29ce484222325u);      // the published values
  CHECK(stream_of("a") == 0xaf63dc4c8601ec8cu);
  CHECK(stream_of("foobar") == 0x85944171f73967e8u);
  Random one(1, "x"), again(1, "x"), other_seed(2, "x"), other_name(1, "y");
  int equal_seed = 0, equal_name = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint32_t v = one.next();
    CHECK(v == again.next());
    equal_seed += v == other_seed.next();
    equal_name += v == other_name.next();
  }
  CHECK(equal_seed == 0);
  CHECK(equal_name == 0);
}

// Bounds: five standard errors of the estimate, so that a right generator passes; the numbers are fixed
// anyway.
TEST_CASE("random: uniform, normal and truncated normal have their moments") {
  const int n = 200000;
  const double root = std::sqrt(double(n));
  double sum_u = 0, sum_u2 = 0, sum_z = 0, sum_z2 = 0, sum_z3 = 0, sum_z4 = 0, sum_t2 = 0, within = 0;
  Random random(11711, "moments");
  for (int i = 0; i < n; ++i) {
    const double u = random.uniform(), z = random.normal(), t = random.truncated_normal();
    CHECK_FALSE((u < 0 || u >= 1 || std::abs(t) > 2));
    sum_u += u, sum_u2 += u * u;
    sum_z += z, sum_z2 += z * z, sum_z3 += z * z * z, sum_z4 += z * z * z * z;
    sum_t2 += t * t, within += std::abs(z) < 1;
  }
  CHECK(std::abs(sum_u / n - 0.5) < 5 * std::sqrt(1.0 / 12) / root);
  CHECK(std::abs(sum_u2 / n - 1.0 / 3) < 5 * std::sqrt(4.0 / 45) / root);
  CHECK(std::abs(sum_z / n) < 5 / root);
  CHECK(std::abs(sum_z2 / n - 1) < 5 * std::sqrt(2.0) / root);
  CHECK(std::abs(sum_z3 / n) < 5 * std::sqrt(15.0) / root);
  CHECK(std::abs(sum_z4 / n - 3) < 5 * std::sqrt(96.0) / root);
  CHECK(std::abs(within / n - 0.6826895) < 5 * 0.4654 / root);
  CHECK(std::abs(sum_t2 / n - 0.7737413) < 5 * 0.8663 / root);      // 1 - 4 phi(2) / (2 Phi(2) - 1)
}

TEST_CASE("random: below(n) is uniform over 0 .. n-1") {
  Random random(3, "below");
  std::vector<double> counts(7, 0);
  const int n = 70000;
  for (int i = 0; i < n; ++i) ++counts[random.below(7)];
  double chi_squared = 0;
  for (const double c : counts) chi_squared += (c - n / 7.0) * (c - n / 7.0) / (n / 7.0);
  CHECK(chi_squared < 22.5);                        // 6 degrees of freedom: P(> 22.5) = 0.001
  CHECK(random.below(1) == 0);
  const uint64_t huge = (uint64_t(1) << 63) + 1;    // nearly half of all draws must be rejected
  int upper = 0;
  for (int i = 0; i < 2000; ++i) {
    const uint64_t v = random.below(huge);
    CHECK(v < huge);
    upper += v >= huge / 2;
  }
  CHECK(std::abs(upper - 1000) < 112);              // five standard errors
}

TEST_CASE("random: dropout keeps 1-p of the elements, scaled, whatever the number of threads") {
  const double p = 0.3;
  const Tensor x = Tensor::full({200, 131}, 1);     // 131: the last blocks of eight lack columns
  const std::vector<real> one = on_threads([&] { return dropout(x, p, {5, 6}).values(); });
  CHECK(one != dropout(x, p, {5, 7}).values());
  CHECK(one != dropout(x, p, {6, 6}).values());

  double kept = 0;
  for (const real v : one) {
    CHECK((v == 0 || v == real(1 / (1 - p))));
    kept += v != 0;
  }
  const double n = double(one.size());
  CHECK(std::abs(kept / n - (1 - p)) < 5 * std::sqrt(p * (1 - p) / n));

  // no column is special: 200 draws each, six standard errors
  std::vector<double> by_column(131, 0);
  for (size_t i = 0; i < one.size(); ++i) by_column[i % 131] += one[i] != 0;
  for (const double c : by_column) CHECK(std::abs(c / 200 - (1 - p)) < 6 * std::sqrt(p * (1 - p) / 200));
}

TEST_CASE("random: the backward of a dropout has the mask of its forward") {
  Tensor x = Tensor::full({64, 70}, 1), r = Tensor::full({64, 70}, 0);
  x.set_requires_grad(true);
  r.set_requires_grad(true);
  const Tensor y = dropout(x, 0.5, {1, 2}), with_residual = dropout_add(r, x, 0.5, {1, 2});
  CHECK(y.values() == with_residual.values());
  backward(with_residual);
  CHECK(x.grad().values() == y.values());           // x is 1, so the mask is both value and derivative
  CHECK(r.grad().values() == std::vector<real>(64 * 70, 1));
}

TEST_CASE("random: in a loop of one's own every micro-batch of an accumulated step has dropout masks of its own") {
  const Tensor w = Tensor::full({1, 64}, 1).set_requires_grad(true);
  Dropout drop(0.5);
  drop.train();
  const auto masks = [&] {                          // of two steps, each over three micro-batches
    DropoutClock::current() = {.seed = 5};
    std::vector<std::vector<real>> all;
    for (int step = 0; step < 2; ++step) {
      for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
        const Tensor y = drop(w);
        all.push_back(y.values());
        backward(sum(y));
      }
      w.zero_grad();
    }
    return all;
  };
  const auto once = masks();
  CHECK(std::set(once.begin(), once.end()).size() == 6);
  CHECK(masks() == once);
}

TEST_CASE("random: attention drops the same weights forward and backward") {
  const std::vector<Sequence> one = {{{1, 2, 3, 4, 5}, {0, 0, 0, 0, 0}}};
  const Batch batch = pack(one);
  const Tensor zero = Tensor::zeros({5, 5}), identity = Tensor::zeros({5, 5});
  for (int i = 0; i < 5; ++i) identity.data()[6 * i] = 1;
  Tensor v = identity;
  v.set_requires_grad(true);
  const Tensor y = attention(zero, zero, v, batch, 1, 0.4, {8, 9});   // equal scores: y is the mask / 5 (1-p)
  backward(y, identity);                                              // dV = P'^T I
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) CHECK(v.grad().data()[5 * j + i] == doctest::Approx(y.data()[5 * i + j]));
  double zeros = 0;
  for (const real w : y.values()) zeros += w == 0;
  CHECK(zeros > 0);
  CHECK(zeros < 25);
}

}  // namespace minbert::test
