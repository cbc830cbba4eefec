// Mean, deviation and Fisher score of every dimension, of a set whose rows are of classes.
//
//   x [N,H]   embeddings   n_k   examples of class k
//   μ_k, σ²_k [H]   mean and biased variance over class k     μ, σ² [H]   over all
#pragma once

#include <span>
#include <vector>

#include "minbert/tensor.h"

namespace minbert {

struct ClassMoments {
  std::vector<double> mean, deviation;              // [H] μ, σ
  // [H] F_j = Σ_k n_k (μ_kj - μ_j)² / Σ_k n_k σ²_kj                                 [TA eq.1]
  // NaN: the dimension is constant within every class, or there are examples of one class only.
  std::vector<double> score;
};
// labels [N] of 0 .. classes-1. Error: not one label for each row.
ClassMoments class_moments(const Tensor& x, std::span<const double> labels, int classes);

}  // namespace minbert
