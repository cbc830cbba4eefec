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

TEST_CASE("class moments: mean, deviation and Fisher score are plain loops' [TA eq.1]") {
  const Tensor x = normal("x", {N, H});
  const std::vector<real> values = x.values();
  const std::vector<double> labels = labels_of(N);
  const ClassMoments moments = class_moments(x, labels, classes);
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
    CHECK(moments.mean[size_t(j)] == doctest::Approx(mu).epsilon(1e-9));
    CHECK(moments.deviation[size_t(j)] == doctest::Approx(std::sqrt(variance)).epsilon(1e-9));
    CHECK(moments.score[size_t(j)] == doctest::Approx(between / within).epsilon(1e-9));
  }
}

TEST_CASE("class moments: a dimension that is constant within its classes, and one class alone, have no score") {
  const Tensor x = Tensor::from({4, 2}, std::vector<real>{1, 5, 3, 5, 2, 7, 4, 7});
  const ClassMoments moments = class_moments(x, std::vector<double>{0, 0, 1, 1}, 2);
  CHECK(moments.score[0] == doctest::Approx(0.25));         // 4 * .25 / 4 * 1
  CHECK(std::isnan(moments.score[1]));
  const ClassMoments one =
      class_moments(Tensor::from({2, 2}, std::vector<real>{1, 5, 3, 6}), std::vector<double>{1, 1}, 2);
  CHECK(std::isnan(one.score[0]));
  CHECK(one.deviation[0] == 1);
  CHECK_ERROR(class_moments(Tensor::zeros({3, 2}), std::vector<double>{0, 0}, 2), "3 embeddings for 2 labels");
}

TEST_CASE("class moments: digits survive a mean that is large beside the deviation") {
  std::vector<real> values;
  for (int i = 0; i < 1000; ++i) values.push_back(real(4096 + (i % 2 ? 0.5 : -0.5)));
  const ClassMoments moments = class_moments(Tensor::from({1000, 1}, values), std::vector<double>(1000, 0), 1);
  CHECK(moments.mean[0] == doctest::Approx(4096).epsilon(1e-9));
  CHECK(moments.deviation[0] == doctest::Approx(0.5).epsilon(1e-6));
}

}  // namespace minbert::test
