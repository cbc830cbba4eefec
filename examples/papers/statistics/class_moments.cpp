// Moments by class.
//
//   Paper       Efficient Task Adaptation with Normalization                              [TA eq.1]
//   Row by row  μ' = μ + (x-μ)/n,  S' = S + (x-μ)(x-μ')                                Welford 1962
//   Variance    N σ² = Σ_k n_k σ²_k + Σ_k n_k (μ_k - μ)²: within the classes, and between them
#include "papers/statistics/class_moments.h"

#include <algorithm>
#include <cmath>

namespace minbert {

ClassMoments class_moments(const Tensor& x, std::span<const double> labels, int classes) {
  MB_CHECK(x.rows() == int64_t(labels.size()), "moments by class: {} embeddings for {} labels", x.rows(),
           labels.size());
  const size_t H = size_t(x.cols());
  struct Class {
    double n_k;
    std::vector<double> mu_k, squares;              // [H] μ_k, and Σ (x - μ_k)² = n_k σ²_k
  };
  std::vector<Class> all(size_t(classes), {0, std::vector<double>(H), std::vector<double>(H)});
  std::vector<real> room;
  const std::span<const real> values = x.on_host(room);
  for (size_t row = 0; row < labels.size(); ++row) {
    auto& [n_k, mu_k, squares] = all.at(size_t(labels[row]));
    ++n_k;
    for (size_t j = 0; j < H; ++j) {
      const double v = double(values[row * H + j]), d = v - mu_k[j];
      mu_k[j] += d / n_k;
      squares[j] += d * (v - mu_k[j]);
    }
  }
  const double N = double(labels.size());
  const bool one_class = std::ranges::count_if(all, [](const Class& c) { return c.n_k > 0; }) < 2;
  ClassMoments moments;
  for (size_t j = 0; j < H; ++j) {
    double mu = 0, between = 0, within = 0;
    for (const Class& c : all) mu += c.n_k / N * c.mu_k[j];
    for (const Class& c : all) {
      between += c.n_k * (c.mu_k[j] - mu) * (c.mu_k[j] - mu);                                      // [TA eq.1]
      within += c.squares[j];                                                                      // [TA eq.1]
    }
    const double F = one_class || within == 0 ? NAN : between / within;                            // [TA eq.1]
    moments.mean.push_back(mu);
    moments.deviation.push_back(std::sqrt((within + between) / N));
    moments.score.push_back(F);
  }
  return moments;
}

}  // namespace minbert
