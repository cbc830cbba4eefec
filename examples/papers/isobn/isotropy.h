// How evenly [CLS] fills its space [IsoBN].
//
//   h [N,H]   [CLS] of N sentences
//   μ [H]   Σ [H,H]   their mean and covariance, which is biased (1/N)
#pragma once

#include <vector>

#include "minbert/norm.h"

namespace minbert {

// EV_k for k = 1 .. H: the share of the k largest squared singular values of h - mu   [IsoBN eq.9]
// Error if nothing varies.
std::vector<double> explained_variance(std::vector<double> Sigma);

// Pearson's correlation of each two dimensions, [H,H]; 0 if one does not vary       [IsoBN sec.2.2]
std::vector<double> pearson_matrix(std::vector<double> Sigma);

// Gives a norm of [CLS] these statistics of a set, in its buffers. Error for a norm whose
// statistics are others.
void set_statistics(Norm& norm, const std::vector<double>& mean,
                    const std::vector<double>& Sigma);
// The covariance of norm(h) in evaluation, A Σ Aᵀ: these norms are h -> A h + b, and A is what they
// make of the unit vectors. Error for a norm whose output is not linear in h.
std::vector<double> covariance_after(const Norm& norm, const std::vector<double>& Sigma);

// Average-linkage clustering of the dimensions at the distance 1 - |ρ|.
struct Clusters {
  std::vector<int> order;         // [H] dimensions, those that were joined early side by side
  std::vector<int> cluster;       // [H] of each dimension: what was joined up to the distance `cut`
};
Clusters average_linkage(const std::vector<double>& rho, double cut);

}  // namespace minbert
