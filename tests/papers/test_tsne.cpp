// t-SNE and 2-means, against plain loops and scikit-learn.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "child.h"
#include "error_of.h"
#include "golden_file.h"
#include "gradcheck.h"
#include "minbert/files.h"
#include "minbert/safetensors.h"
#include "papers/statistics/clusters.h"
#include "papers/statistics/tsne.h"
#include "threads.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"

namespace minbert::test {
namespace {

// Plain loops read these, on whatever device the tests run.
Tensor on_cpu(Shape shape, const std::vector<real>& values) { return Tensor::from(shape, values, Device::cpu); }
Tensor normal_on_cpu(const std::string& name, Shape shape, double deviation = 1) {
  return on_cpu(shape, normal(name, shape, deviation).values());
}

double squared_distance(const Tensor& x, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < x.cols(); ++k) {
    const double d = double(x.data()[i * x.cols() + k]) - double(x.data()[j * x.cols() + k]);
    sum += d * d;
  }
  return sum;
}

// The k points nearest to point i, as a sorted list
std::vector<int64_t> nearest(const Tensor& x, int64_t i, int64_t k) {
  std::vector<int64_t> others;
  for (int64_t j = 0; j < x.rows(); ++j)
    if (j != i) others.push_back(j);
  std::ranges::stable_sort(others, {}, [&](int64_t j) { return squared_distance(x, i, j); });
  others.resize(size_t(k));
  std::ranges::sort(others);
  return others;
}

// The share of the k nearest neighbours among the points that are among the k nearest on the map, too
double neighbours_kept(const Tensor& x, const Tensor& y, int64_t k) {
  double kept = 0;
  for (int64_t i = 0; i < x.rows(); ++i) {
    const std::vector<int64_t> in_x = nearest(x, i, k), in_y = nearest(y, i, k);
    std::vector<int64_t> both;
    std::ranges::set_intersection(in_x, in_y, std::back_inserter(both));
    kept += double(both.size()) / double(k * x.rows());
  }
  return kept;
}

Tensor golden(const SafeTensors& file, const std::string& name) {
  const std::vector<int64_t>& shape = file.entry(name).shape;
  return on_cpu(shape.size() == 1 ? Shape{shape[0]} : Shape{shape.at(0), shape.at(1)}, file.read(name));
}

}  // namespace

TEST_CASE("t-SNE: p_ij and KL are scikit-learn's; our map is about as good as its best of five") {
  const SafeTensors file(golden_file("tsne.safetensors"));
  const Tensor x = golden(file, "x"), theirs = golden(file, "y");
  const std::vector<real> p = golden(file, "p").values();
  const int64_t N = x.rows();
  const Tensor P = joint_probabilities(x, 20);
  size_t pair = 0;
  double worst = 0;
  for (int64_t i = 0; i < N; ++i)
    for (int64_t j = i + 1; j < N; ++j)
      worst = std::max(worst, std::abs(double(P.data()[i * N + j]) - double(p[pair++])));
  CHECK(worst < 1e-7);                              // of p up to .004; both bisections stop at 1e-5
  const double their_kl = kl_divergence(P, theirs);
  CHECK(their_kl == doctest::Approx(double(golden(file, "kl").item())).epsilon(1e-5));
  double best = 1e30;
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {     // another local minimum each, and on another processor
    const TsneMap ours = tsne(x, {.perplexity = 20, .seed = seed});
    CHECK(ours.kl == kl_divergence(P, ours.y));
    CHECK(ours.kl < 1.2 * their_kl);
    CHECK(neighbours_kept(x, ours.y, 10) > neighbours_kept(x, theirs, 10) - 0.05);
    best = std::min(best, ours.kl);
  }
  CHECK(best < 1.05 * their_kl);                    // theirs is the best of five, too
}

TEST_CASE("t-SNE: KL and its gradient are those of plain loops, and of finite differences") {
  constexpr int64_t N = 40;
  const Tensor P = joint_probabilities(normal("x", {N, 5}), 8), y = normal_on_cpu("y", {N, 2}, 2);
  const auto w = [&](int64_t i, int64_t j) { return 1 / (1 + squared_distance(y, i, j)); };
  double Z = 0, kl = 0;
  for (int64_t i = 0; i < N; ++i)
    for (int64_t j = 0; j < N; ++j) Z += i == j ? 0 : w(i, j);
  for (const double exaggeration : {1., 4.}) {
    std::vector<real> expected(2 * N);
    kl = 0;
    for (int64_t i = 0; i < N; ++i)
      for (int64_t j = 0; j < N; ++j) {
        if (i == j) continue;
        const double p = exaggeration * double(P.data()[i * N + j]), q = w(i, j) / Z;
        kl += p * std::log(p / q);
        for (int64_t k = 0; k < 2; ++k)
          expected[size_t(2 * i + k)] +=
              real(4 * (p - q) * (double(y.data()[2 * i + k]) - double(y.data()[2 * j + k])) * w(i, j));
      }
    CHECK(difference(kl_gradient(P, y, exaggeration).values(), expected) < tolerance(1e-5, 1e-13));
    if (exaggeration == 1) CHECK(kl_divergence(P, y) == doctest::Approx(kl).epsilon(1e-6));
  }
  if (!is_double) return;
  const auto gradient = kl_gradient(P, y).values();
  const auto kl_moved = [&](size_t k, double h) {
    std::vector<real> moved = y.values();
    moved[k] += real(h);
    return kl_divergence(P, on_cpu(y.shape(), moved));
  };
  std::vector<real> numerical;
  for (size_t k = 0; k < gradient.size(); ++k)
    numerical.push_back(real((kl_moved(k, 1e-5) - kl_moved(k, -1e-5)) / 2e-5));
  CHECK(difference(gradient, numerical) < 1e-6);
}

TEST_CASE("t-SNE: equal points are each other's neighbours, with equal p") {
  constexpr int64_t n = 40, N = 4 * n;                // more copies than the perplexity
  const std::vector<real> corner = normal("corners", {4, 3}).values();
  std::vector<real> x;
  for (size_t i = 0; i < size_t(N); ++i)
    for (size_t k = 0; k < 3; ++k) x.push_back(corner[i / n * 3 + k]);
  const Tensor points = Tensor::from({N, 3}, x), P = joint_probabilities(points, 10);
  for (int64_t i = 0; i < N; ++i)
    for (int64_t j = 0; j < N; ++j) {
      const double expected = i != j && i / n == j / n ? 1. / (n - 1) / N : 0;
      CHECK(double(P.data()[i * N + j]) == doctest::Approx(expected).epsilon(1e-5));
    }
  const TsneMap map = tsne(points, {.perplexity = 10});
  CHECK(std::isfinite(map.kl));
  for (int64_t i = 0; i < N; ++i) CHECK(nearest(map.y, i, 1)[0] / n == i / n);
}

TEST_CASE("t-SNE: a seed is a map, bit for bit, with any number of threads") {
  const Tensor x = normal("points", {100, 7});
  const TsneOptions options{.perplexity = 15, .iterations = 60, .seed = 3};
  const std::vector<real> y = on_threads([&] { return tsne(x, options).y.values(); });
  CHECK(tsne(x, {.perplexity = 15, .iterations = 60, .seed = 4}).y.values() != y);
}

TEST_CASE("t-SNE: a child process that is told to stop" * doctest::skip()) {
  watch_for_interrupt();
  raise(SIGTERM);
  CHECK_THROWS_AS(tsne(normal("points", {50, 4}), {.perplexity = 5}), Interrupted);
}
TEST_CASE("t-SNE: interrupted, there is no map") {
  Child child("t-SNE: a child process that is told to stop", "");
  CHECK(child.peak_memory() > 0);                   // it ended well
}

TEST_CASE("t-SNE: what it cannot map is an error that says why") {
  const Tensor x = normal("points", {50, 4});
  const auto error = [](const Tensor& points, double perplexity) {
    return error_of([&] { tsne(points, {.perplexity = perplexity}); });
  };
  CHECK(error(x, 30) == "t-SNE: 50 points are too few for perplexity 30, which needs at least three times as many; "
                        "take more points, or --perplexity 16");
  CHECK(error(x, 16.6) == "no error");
  CHECK(contains(error(x, 0.5), "t-SNE: the perplexity is 0.5; it is a number of neighbours, at least 1"));
  CHECK(contains(error(x, NAN), "t-SNE: the perplexity is nan"));
  CHECK(contains(error(x, INFINITY), "t-SNE: the perplexity is inf"));
  CHECK_ERROR(tsne(x, {.perplexity = 5, .learning_rate = 1e300}), "t-SNE: the map diverged at");
  CHECK(error(Tensor::full({50, 4}, real(.1)), 5) ==
        "t-SNE: all of the 50 points are equal; there is nothing to tell apart");
  std::vector<real> values = x.values();
  values[4 * 17 + 3] = -INFINITY;
  CHECK(contains(error(Tensor::from({50, 4}, values), 5), "t-SNE: point 17 is -inf in dimension 3 (both counted"));
}

TEST_CASE("2-means: the best of all divisions of a few points, from whatever seed") {
  constexpr size_t N = 11, H = 3;
  const Tensor x = normal_on_cpu("few points", {N, H});
  const auto share = [&](const std::vector<int>& cluster) {           // between = total - within
    double within = 0, total = 0;
    for (size_t k = 0; k < H; ++k) {
      double n[2] = {0, 0}, sum[2] = {0, 0}, squares = 0;
      for (size_t i = 0; i < N; ++i) {
        const double v = double(x.data()[i * H + k]);
        n[cluster[i]] += 1;
        sum[cluster[i]] += v;
        squares += v * v;
      }
      within += squares - sum[0] * sum[0] / n[0] - sum[1] * sum[1] / n[1];
      total += squares - (sum[0] + sum[1]) * (sum[0] + sum[1]) / N;
    }
    return 1 - within / total;
  };
  double best = 0;
  for (int division = 1; division < 1 << (N - 1); ++division) {       // point 0 is in cluster 0
    std::vector<int> cluster(N);
    for (size_t i = 1; i < N; ++i) cluster[i] = division >> (i - 1) & 1;
    best = std::max(best, share(cluster));
  }
  for (const uint64_t seed : {1, 2, 3}) {
    const TwoMeans found = two_means(x, seed);
    CHECK(found.cluster[0] == 0);
    CHECK(found.variance_between == doctest::Approx(share(found.cluster)).epsilon(1e-9));
    CHECK(found.variance_between == doctest::Approx(best).epsilon(1e-9));
  }
}

TEST_CASE("2-means: one normal cloud has 2/pi of its widest direction's variance between") {
  CHECK(two_means(normal("cloud", {20000, 1})).variance_between == doctest::Approx(2 / std::numbers::pi).epsilon(0.01));
  const TwoMeans two_values = two_means(Tensor::from({5, 1}, std::vector<real>{2, 7, 2, 2, 7}));
  CHECK(two_values.cluster == std::vector<int>{0, 1, 0, 0, 1});
  CHECK(two_values.variance_between == doctest::Approx(1));
}

TEST_CASE("2-means: how well a score tells two clusters apart is the share of pairs, ties counting half") {
  const std::vector<double> score = {3, 1, 2, 2, 5, 2, 4, 1};
  const std::vector<int> cluster = {1, 0, 1, 0, 1, 0, 0, 1};
  double larger = 0, pairs = 0;
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 8; ++j)
      if (cluster[i] == 1 && cluster[j] == 0) {
        larger += score[i] > score[j] ? 1 : score[i] == score[j] ? 0.5 : 0;
        ++pairs;
      }
  REQUIRE(larger > pairs / 2);
  CHECK(told_apart(score, cluster) == doctest::Approx(larger / pairs));
  std::vector<double> falling = score;
  for (double& s : falling) s = -s;
  CHECK(told_apart(falling, cluster) == doctest::Approx(larger / pairs));
  CHECK(told_apart({1, 2}, {0, 1}) == 1);
  CHECK(std::isnan(told_apart({1, 2}, {1, 1})));
}

TEST_CASE("2-means: fewer than two points, equal points and a NaN are errors") {
  const auto error = [](Shape shape, const std::vector<real>& values) {
    return error_of([&] { two_means(Tensor::from(shape, values)); });
  };
  CHECK(error({1, 2}, {1, 2}) == "2-means: two clusters need at least 2 points, not 1");
  CHECK(contains(error({2, 2}, {1, 2, 1, 2}), "2-means: all of the 2 points are equal"));
  CHECK(contains(error({2, 2}, {1, 2, real(NAN), 2}), "2-means: point 1 is nan in dimension 0"));
}

}  // namespace minbert::test
