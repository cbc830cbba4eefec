// Moments by class, in memory that does not grow with the set.
//
//   Paper       Efficient Task Adaptation with Normalization                              [TA eq.1]
//   Pass        row by row: μ' = μ + (x-μ)/n,  S' = S + (x-μ)(x-μ')                    Welford 1962
//   Variance    N σ² = Σ_k n_k σ²_k + Σ_k n_k (μ_k - μ)²: within the classes, and between them
#include "papers/statistics/class_moments.h"

#include <algorithm>
#include <cmath>

namespace minbert {

ClassMoments::ClassMoments(int64_t hidden, int classes)
    : H_(size_t(hidden)), classes_(size_t(classes)) {
  for (Class& c : classes_) {
    c.mu_k.resize(H_);
    c.squares.resize(H_);
  }
}

void ClassMoments::add(const Tensor& x, std::span<const double> labels) {
  MB_CHECK(x.rows() == int64_t(labels.size()) && x.cols() == int64_t(H_),
           "moments by class: {} embeddings of {} dimensions for {} labels and {} dimensions",
           x.rows(), x.cols(), labels.size(), H_);
  std::vector<real> room;
  const std::span<const real> values = x.on_host(room);
  for (size_t row = 0; row < labels.size(); ++row) {
    Class& c = classes_.at(size_t(labels[row]));
    ++c.n_k;
    for (size_t j = 0; j < H_; ++j) {
      const double v = double(values[row * H_ + j]), d = v - c.mu_k[j];
      c.mu_k[j] += d / double(c.n_k);
      c.squares[j] += d * (v - c.mu_k[j]);
    }
  }
}

int64_t ClassMoments::rows() const {
  int64_t sum = 0;
  for (const Class& c : classes_) sum += c.n_k;
  return sum;
}

std::vector<double> ClassMoments::mean() const {
  std::vector<double> mu(H_);
  const double N = double(rows());
  for (const Class& c : classes_)
    for (size_t j = 0; j < H_; ++j) mu[j] += double(c.n_k) / N * c.mu_k[j];
  return mu;
}

// Σ_k n_k (μ_k - μ)² of dimension j: the numerator of its score
double ClassMoments::between(size_t j, double mu) const {
  double sum = 0;
  for (const Class& c : classes_) sum += double(c.n_k) * (c.mu_k[j] - mu) * (c.mu_k[j] - mu);      // [TA eq.1]
  return sum;
}

// σ² = Σ_k n_k σ_k² of dimension j, as the document defines it: the denominator
double ClassMoments::within(size_t j) const {
  double sum = 0;
  for (const Class& c : classes_) sum += c.squares[j];                                             // [TA eq.1]
  return sum;
}

std::vector<double> ClassMoments::deviation() const {
  const std::vector<double> mu = mean();
  const double N = double(rows());
  std::vector<double> sigma;
  for (size_t j = 0; j < H_; ++j) sigma.push_back(std::sqrt((within(j) + between(j, mu[j])) / N));
  return sigma;
}

std::vector<std::optional<double>> ClassMoments::fisher_score() const {
  const std::vector<double> mu = mean();
  const bool one_class =
      std::ranges::count_if(classes_, [](const Class& c) { return c.n_k > 0; }) < 2;
  std::vector<std::optional<double>> F(H_);
  for (size_t j = 0; j < H_; ++j)
    if (!one_class && within(j) > 0) F[j] = between(j, mu[j]) / within(j);                         // [TA eq.1]
  return F;
}

}  // namespace minbert
