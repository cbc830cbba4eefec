// Mean and covariance of a set that is given batch by batch; its rows are not kept.
//
//   n = n_a + n_b   δ = μ_b - μ_a   μ = μ_a + δ n_b/n
//   S = S_a + S_b + δ δᵀ n_a n_b/n   S_b = (x - μ_b)ᵀ (x - μ_b)          Chan, Golub & LeVeque 1979
#pragma once

#include <vector>

#include "minbert/tensor.h"

namespace minbert {

class Covariance {
 public:
  explicit Covariance(int64_t hidden);
  void add(const Tensor& x);                        // [n,H]
  const std::vector<double>& mean() const { return mean_; }      // [H]
  std::vector<double> matrix() const;               // [H,H] S / n: biased, as in the papers

 private:
  int64_t hidden_, rows_ = 0;
  std::vector<double> mean_, S_;
};

}  // namespace minbert
