// Products of matrices whose way depends on their size: each agrees with its definition, whatever the threads.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <iostream>

#include "engine/gemm/bf16_gemm.h"
#include "engine/gemm/small_gemm.h"
#include "error_of.h"
#include "gradcheck.h"
#include "minbert/ops.h"
#include "minbert/tokenizer.h"
#include "on_device.h"
#include "threads.h"

namespace minbert::test {

TEST_CASE("gemm: a product of few rows is that of the definition, whatever its sizes and the threads") {
  const On cpu(Device::cpu);
  for (const int64_t m : {1, 3, 8, 9, 16, 17, 33, 128})
    for (const int64_t n : {1, 7, 96, 200})
      for (const int64_t k : {1, 128, 515, 1600}) {
        const Tensor a = normal("a", {m, k}), b = normal("b", {n, k}), start = normal("c", {m, n});
        const Product product{m, n, k, a.data(), k, b.data(), k, nullptr, n};
        REQUIRE(has_few_rows(product) == (n >= 96 && k >= 128));
        const auto run = [&](bool add) {
          const Tensor c({m, n}, Device::cpu);
          std::ranges::copy(start.values(), c.data());
          Product p = product;
          p.c = c.data();
          gemm_nt_few_rows(p, add);
          return c.values();
        };
        const std::vector<real> c = on_threads([&] { return run(false); }), sum = on_threads([&] { return run(true); });
        if (has_few_rows(product)) CHECK(matmul_nt(a, b).values() == c);
        double worst = 0;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double exact = 0;
            for (int64_t t = 0; t < k; ++t) exact += double(a.data()[i * k + t]) * double(b.data()[j * k + t]);
            const size_t at = size_t(i * n + j);
            worst = std::max({worst, std::abs(double(c[at]) - exact),
                              std::abs(double(sum[at]) - exact - double(start.data()[at]))});
          }
        CHECK(worst < tolerance(1e-3, 1e-11));
      }
}

TEST_CASE("gemm: rows of few-row products may lie apart, and no row is no work") {
  const On cpu(Device::cpu);
  const Tensor a = normal("a", {5, 700}), b = normal("b", {7, 600}), c = Tensor::zeros({5, 9});
  gemm_nt_few_rows({5, 7, 512, a.data() + 3, 700, b.data() + 1, 600, c.data() + 2, 9}, false);
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 9; ++j) {
      double exact = 0;
      for (int64_t t = 0; t < 512 && j >= 2; ++t)
        exact += double(a.data()[i * 700 + 3 + t]) * double(b.data()[(j - 2) * 600 + 1 + t]);
      CHECK(std::abs(double(c.data()[i * 9 + j]) - exact) < tolerance(1e-3, 1e-11));
    }
  CHECK(matmul_nt(Tensor({0, 512}), normal("b", {6, 512})).shape() == Shape{0, 6});
}

#ifndef MINBERT_DOUBLE
// x with 8 significant bits, to the nearest, of two as near to the even one.
double in_bf16(double x) {
  int exponent;
  const double fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(fraction * 256), exponent - 8);
}

TEST_CASE("gemm: in bf16 each number is rounded and sums are in float, in every form, with any threads") {
  const On cpu(Device::cpu);
  if (bf16_instructions().empty()) std::cout << "bf16 by instructions: not run (this processor has none)\n";
  constexpr int64_t apart = 3;                      // rows stand that far apart
  using Sizes = std::array<int64_t, 3>;
  for (const auto [m, n, k] : {Sizes{1, 1, 1}, {33, 47, 65}, {5, 300, 31}, {64, 96, 128}, {20, 33, 2100}, {2, 3, 0}})
    for (const Transpose form : {Transpose::nn, Transpose::nt, Transpose::tn}) {
      INFO(m << " x " << n << " x " << k << ", form " << int(form));
      const bool ta = form == Transpose::tn, tb = form == Transpose::nt;
      const int64_t lda = (ta ? m : k) + apart, ldb = (tb ? k : n) + apart, ldc = n + apart;
      const Tensor a = normal("a", {ta ? k : m, lda}), b = normal("b", {tb ? n : k, ldb});
      const Tensor start = normal("c", {m, ldc}), bias = normal("bias", {n});
      const auto run = [&, m = m, n = n, k = k](auto multiply, bool add, real alpha = 1,
                                                const real* on_rows = nullptr) {
        const Tensor c({m, ldc}, Device::cpu);
        std::ranges::copy(start.values(), c.data());
        multiply(form, Product{m, n, k, a.data(), lda, b.data(), ldb, c.data(), ldc}, alpha, add, on_rows);
        return c.values();
      };
      const std::vector<real> c = on_threads([&] { return run(gemm_bf16_plain, false); }),
                              sum = run(gemm_bf16_plain, true),
                              half = run(gemm_bf16_plain, false, real(0.5), bias.data());
      double worst = 0, worst_of_theory = 0;        // as shares of what is allowed
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < ldc; ++j) {
          double exact = 0, rounded = 0, size = 0;
          for (int64_t t = 0; t < k && j < n; ++t) {
            const double x = a.data()[ta ? t * lda + i : i * lda + t], y = b.data()[tb ? j * ldb + t : t * ldb + j];
            exact += x * y, rounded += in_bf16(x) * in_bf16(y), size += std::abs(x * y);
          }
          const size_t at = size_t(i * ldc + j);
          if (j >= n) {
            CHECK(c[at] == start.data()[at]);
            continue;
          }
          const double of_sums = double(k) * 0x1p-23 * size;
          worst = std::max({worst, std::abs(c[at] - rounded) / (of_sums + 1e-30),
                            std::abs(sum[at] - rounded - start.data()[at]) / (of_sums + 1e-6),
                            std::abs(half[at] - rounded / 2 - bias.data()[j]) / (of_sums + 1e-6)});
          worst_of_theory =
              std::max(worst_of_theory, std::abs(c[at] - exact) / ((0x1p-7 + 0x1p-16) * size + of_sums + 1e-30));
        }
      CHECK(worst <= 1);
      CHECK(worst_of_theory <= 1);
      if (bf16_instructions().empty()) continue;
      const std::vector<real> fast = on_threads([&] { return run(gemm_bf16, false); });
      if (bf16_instructions() == "AVX512-BF16") CHECK(fast == c);        // AMX adds in another order
      std::vector<real> fast_sum, fast_half;         // each on a thread of its own
#pragma omp parallel sections num_threads(2)
      {
#pragma omp section
        fast_sum = run(gemm_bf16, true);
#pragma omp section
        fast_half = run(gemm_bf16, false, real(0.5), bias.data());
      }
      const auto near = [](real x) { return doctest::Approx(x).epsilon(1e-4).scale(10); };
      for (size_t e = 0; e < c.size(); ++e) {
        CHECK(fast[e] == near(c[e]));
        CHECK(fast_sum[e] == near(sum[e]));
        CHECK(fast_half[e] == near(half[e]));
      }
    }
}
#endif

TEST_CASE("gemm: bf16 is refused where there is none, and serves products of many rows alone") {
  const On cpu(Device::cpu);
  if (bf16_instructions().empty()) {
    const Precision before = matmul_precision();
    CHECK_ERROR(set_matmul_precision(Precision::bf16), "has no such products");
    CHECK(matmul_precision() == before);
    return;
  }
  const Tensor many = normal("x", {64, 128}), few = normal("y", {8, 128}), w = normal("w", {96, 128});
  const std::vector<real> exact = matmul_nt(many, w).values(), exact_of_few = matmul_nt(few, w).values();
  const Batch sentence = pack(std::vector<Sequence>{{std::vector<int32_t>(64, 1), std::vector<int32_t>(64, 0)}});
  const Tensor q = normal("q", {64, 64}), k = normal("k", {64, 64}), v = normal("v", {64, 64});
  const auto attend = [&] { return attention(q, k, v, sentence, 1, 0, {5, 6}).values(); };
  const std::vector<real> attended = attend();
  const In bf16(Precision::bf16);
  const std::vector<real> attended_in_bf16 = attend();
  CHECK(attended_in_bf16 != attended);
  for (size_t i = 0; i < attended.size(); ++i) CHECK(std::abs(attended_in_bf16[i] - attended[i]) < 0.02);
  const std::vector<real> rounded = matmul_nt(many, w).values(), of_few = matmul_nt(few, w).values();
  std::vector<real> in_fp32;
  {
    const ExactProducts here;
    in_fp32 = matmul_nt(many, w).values();
  }
  CHECK(rounded != exact);
  CHECK(of_few == exact_of_few);
  CHECK(in_fp32 == exact);
}

TEST_CASE("gemm: attention is the same for any number of threads, with and without a backward") {
  std::vector<Sequence> sentences;
  for (const size_t length : {3, 40, 1, 90})
    sentences.push_back({std::vector<int32_t>(length, 1), std::vector<int32_t>(length, 0)});
  const Batch batch = pack(sentences);
  const int64_t T = batch.tokens();
  Tensor q = normal("q", {T, 12}), k = normal("k", {T, 12}), v = normal("v", {T, 12});
  const Tensor cotangent = normal("dO", {T, 12});
  const auto alone = [&] { return attention(q, k, v, batch, 3, 0.2, {5, 6}).values(); };
  const std::vector<real> without_backward = on_threads(alone);
  for (Tensor* t : {&q, &k, &v}) t->set_requires_grad(true);
  {
    INFO("O without a backward, then O of a forward that is recorded");
    CHECK(without_backward == on_threads([&] {
            const Tensor o = attention(q, k, v, batch, 3, 0.2, {5, 6});
            clear_tape();
            return o.values();
          }));
  }
  INFO("dQ, dK and dV, one behind the other");
  on_threads([&] {
    for (Tensor* t : {&q, &k, &v}) t->zero_grad();
    backward(attention(q, k, v, batch, 3, 0.2, {5, 6}), cotangent);
    std::vector<real> all;
    for (const Tensor* t : {&q, &k, &v})
      for (const real g : t->grad().values()) all.push_back(g);
    return all;
  });
}

}  // namespace minbert::test
