// Mean and variance of every dimension, of a set and of each of its classes, in one pass.
//
//   x [B,H]   embeddings   n_k   examples of class k
//   μ_k, σ²_k [H]   mean and biased variance over class k     μ, σ² [H]   over all
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "minbert/tensor.h"

namespace minbert {

class ClassMoments {
 public:
  ClassMoments(int64_t hidden, int classes);
  // labels [B] of 0 .. classes-1. Errors: a row for each label, H columns.
  void add(const Tensor& x, std::span<const double> labels);

  std::vector<double> mean() const;                 // [H] μ
  std::vector<double> deviation() const;            // [H] σ
  // F_j = Σ_k n_k (μ_kj - μ_j)² / Σ_k n_k σ²_kj                                     [TA eq.1]
  // none: the dimension is constant within every class, or there are examples of one class only.
  std::vector<std::optional<double>> fisher_score() const;

 private:
  struct Class {
    int64_t n_k = 0;
    std::vector<double> mu_k, squares;              // [H] μ_k, and Σ (x - μ_k)² = n_k σ²_k
  };
  double between(size_t j, double mu) const;        // Σ_k n_k (μ_kj - μ_j)²
  double within(size_t j) const;                    // Σ_k n_k σ²_kj
  int64_t rows() const;
  size_t H_;
  std::vector<Class> classes_;
};

}  // namespace minbert
