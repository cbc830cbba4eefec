// k-means with two clusters: Lloyd's algorithm, with starts as in k-means++ (Arthur & Vassilvitskii
// 2007).
//
//   Shapes     x_i, c_0, c_1, mean [H]   n_0 + n_1 = N points
//   Equations  SS_total = Σ_i |x_i - mean|²
//              SS_between = Σ_c n_c |c - mean|² = n_0 n_1 / N  |c_1 - c_0|²
#include "papers/statistics/clusters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "minbert/random.h"
#include "papers/statistics/points.h"

namespace minbert {
namespace {

using Vector = std::vector<double>;

struct Points {
  std::span<const real> values;                     // [N,H]
  size_t N, H;
  double operator()(size_t i, size_t k) const { return double(values[i * H + k]); }
};

// |x_i - center|² of each point
Vector distances(const Points& x, const Vector& center) {
  Vector d(x.N);
#pragma omp parallel for
  for (size_t i = 0; i < x.N; ++i)
    for (size_t k = 0; k < x.H; ++k) d[i] += (x(i, k) - center[k]) * (x(i, k) - center[k]);
  return d;
}

Vector row(const Points& x, size_t i) { return {&x.values[i * x.H], &x.values[i * x.H] + x.H}; }

// The first center is a point at random; the second one, too, with probabilities as the squared
// distances to the first.
std::array<Vector, 2> start(const Points& x, Random& random) {
  const Vector first = row(x, size_t(random.below(x.N))), weight = distances(x, first);
  double rest = random.uniform() * std::accumulate(weight.begin(), weight.end(), 0.0);
  size_t second = 0;
  for (; second + 1 < x.N && rest >= weight[second]; ++second) rest -= weight[second];
  return {first, row(x, second)};
}

// One step of Lloyd's algorithm: every point to its nearest center, then each center to the mean of
// its points. Returns SS_between.
double step(const Points& x, std::vector<int>& cluster, std::array<Vector, 2>& centers) {
  auto& [c_0, c_1] = centers;
#pragma omp parallel for
  for (size_t i = 0; i < x.N; ++i) {
    double side = 0;                                // |x_i - c_0|² - |x_i - c_1|², halved
    for (size_t k = 0; k < x.H; ++k) side += (x(i, k) - (c_0[k] + c_1[k]) / 2) * (c_1[k] - c_0[k]);
    cluster[i] = side > 0;
  }
  c_0.assign(x.H, 0);
  c_1.assign(x.H, 0);
  const double n_1 = std::accumulate(cluster.begin(), cluster.end(), 0.0), n_0 = double(x.N) - n_1;
  for (size_t i = 0; i < x.N; ++i)
    for (size_t k = 0; k < x.H; ++k) (cluster[i] ? c_1 : c_0)[k] += x(i, k);
  double between = 0;
  for (size_t k = 0; k < x.H; ++k) {
    c_0[k] /= std::max(n_0, 1.0);
    c_1[k] /= std::max(n_1, 1.0);
    between += n_0 * n_1 / double(x.N) * (c_1[k] - c_0[k]) * (c_1[k] - c_0[k]);
  }
  return between;
}

}  // namespace

TwoMeans two_means(const Tensor& points, uint64_t seed, int starts) {
  MB_CHECK(points.rows() >= 2, "2-means: two clusters need at least 2 points, not {}",
           points.rows());
  std::vector<real> copy;
  const Points x{checked_points("2-means", points, copy), size_t(points.rows()),
                 size_t(points.cols())};
  Vector mean(x.H);
  for (size_t i = 0; i < x.N; ++i)
    for (size_t k = 0; k < x.H; ++k) mean[k] += x(i, k) / double(x.N);
  const Vector d = distances(x, mean);
  const double total = std::accumulate(d.begin(), d.end(), 0.0);
  Random random(seed, "2-means");
  TwoMeans best{{}, -1};
  for (int run = 0; run < starts; ++run) {
    TwoMeans found{std::vector<int>(x.N), -1};
    std::array<Vector, 2> centers = start(x, random);
    for (double between; (between = step(x, found.cluster, centers)) > found.variance_between;)
      found.variance_between = between;
    if (found.variance_between > best.variance_between) best = found;
  }
  best.variance_between /= total;
  if (best.cluster[0] == 1)
    for (int& c : best.cluster) c = 1 - c;
  return best;
}

double told_apart(const std::vector<double>& score, const std::vector<int>& cluster) {
  std::vector<std::pair<double, int>> sorted;
  for (size_t i = 0; i < score.size(); ++i) sorted.push_back({score[i], cluster[i]});
  std::ranges::sort(sorted);
  double larger = 0, ones = 0, others = 0;          // so far
  for (size_t begin = 0, end; begin < sorted.size(); begin = end) {
    double tied[2] = {0, 0};
    for (end = begin; end < sorted.size() && sorted[end].first == sorted[begin].first; ++end)
      ++tied[sorted[end].second];
    larger += tied[1] * (others + tied[0] / 2);
    ones += tied[1];
    others += tied[0];
  }
  const double pairs = ones * others;
  return pairs > 0 ? std::max(larger, pairs - larger) / pairs : NAN;
}

}  // namespace minbert
