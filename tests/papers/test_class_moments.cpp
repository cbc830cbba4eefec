// Moments by class, and the Fisher score.
#include <doctest/doctest.h>

#include <cmath>

#include "error_of.h"
#include "gradcheck.h"
#include "papers/statistics/class_moments.h"

namespace minbert::test {
namespace {

constexpr int64_t N = 23, H = 4;
constexpr int classes = 3;

std::vector<double> labels_of(int64_t rows) {
  std::vector<double> labels;
  for (int64_t n = 0; n < rows; ++n) labels.push_back(double(n * n % classes));
  return labels;
}

}  // namespace

TEST_CASE("class moments: mean, deviation and Fisher score are plain loops', whatever the batches [TA eq.1]") {
  const Tensor x = normal("x", {N, H});
  const std::vector<real> values = x.values();
  const std::vector<double> labels = labels_of(N);
  ClassMoments moments(H, classes);
  for (int64_t begin = 0; begin < N; begin += 5) {
    const int64_t rows = std::min<int64_t>(5, N - begin);
    moments.add(Tensor::from({rows, H}, std::span(values).subspan(size_t(begin * H), size_t(rows * H))),
                std::span(labels).subspan(size_t(begin), size_t(rows)));
  }
  for (int64_t j = 0; j < H; ++j) {
    const auto mean_of = [&](int k) {               // k -1: of all
      double sum = 0, n = 0;
      for (int64_t i = 0; i < N; ++i)
        if (k < 0 || labels[size_t(i)] == k) {
          sum += double(values[size_t(i * H + j)]);
          ++n;
        }
      return std::pair(n > 0 ? sum / n : 0, n);
    };
    const double mu = mean_of(-1).first;
    double between = 0, within = 0, variance = 0;
    for (int k = 0; k < classes; ++k) between += mean_of(k).second * std::pow(mean_of(k).first - mu, 2);
    for (int64_t i = 0; i < N; ++i) {
      const double v = double(values[size_t(i * H + j)]);
      within += std::pow(v - mean_of(int(labels[size_t(i)])).first, 2);
      variance += (v - mu) * (v - mu) / double(N);
    }
    CHECK(moments.mean()[size_t(j)] == doctest::Approx(mu).epsilon(1e-9));
    CHECK(moments.deviation()[size_t(j)] == doctest::Approx(std::sqrt(variance)).epsilon(1e-9));
    REQUIRE(moments.fisher_score()[size_t(j)]);
    CHECK(*moments.fisher_score()[size_t(j)] == doctest::Approx(between / within).epsilon(1e-9));
  }
}

TEST_CASE("class moments: a dimension that is constant within its classes, and one class alone, have no score") {
  ClassMoments moments(2, 2);
  moments.add(Tensor::from({4, 2}, std::vector<real>{1, 5, 3, 5, 2, 7, 4, 7}), std::vector<double>{0, 0, 1, 1});
  CHECK(moments.fisher_score()[0] == doctest::Approx(0.25));               // 4 * .25 / 4 * 1
  CHECK_FALSE(moments.fisher_score()[1]);
  ClassMoments one(2, 2);
  one.add(Tensor::from({2, 2}, std::vector<real>{1, 5, 3, 6}), std::vector<double>{1, 1});
  CHECK_FALSE(one.fisher_score()[0]);
  CHECK(one.deviation()[0] == 1);
  CHECK_ERROR(one.add(Tensor::zeros({2, 3}), std::vector<double>{0, 0}),
              "2 embeddings of 3 dimensions for 2 labels and 2 dimensions");
}

TEST_CASE("class moments: digits survive a mean that is large beside the deviation") {
  ClassMoments moments(1, 1);
  for (int i = 0; i < 1000; ++i)
    moments.add(Tensor::from({1, 1}, std::vector<real>{real(4096 + (i % 2 ? 0.5 : -0.5))}), std::vector<double>{0});
  CHECK(moments.mean()[0] == doctest::Approx(4096).epsilon(1e-9));
  CHECK(moments.deviation()[0] == doctest::Approx(0.5).epsilon(1e-6));
}

}  // namespace minbert::test
