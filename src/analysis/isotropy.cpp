// Isotropy of [CLS] embeddings: what share of the variance the first k directions have, and who doubles whom.
//
//   Paper       IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization
//   Equation    EV_k(h) = sum_{i<=k} λ_i² / sum_j λ_j²     λ_i the singular values of h                [IsoBN eq.9]
//   Shapes      h [N,H]   EV [H]   ρ [H,H]
//   Deviations  λ_i² are computed as eigenvalues of hᵀh (H numbers, whatever N), by LAPACK's dsyevd: a sum of squares
//               loses nothing by that. h is centered first: the paper says that EV does not depend on the mean, and
//               only then is that so.
#include "minbert/isotropy.h"

#include <algorithm>
#include <cmath>

#include "engine/lapack.h"
#include "norm/cls/covariance.h"

namespace minbert {

std::vector<double> explained_variance(const Tensor& h, bool centered) {
  const size_t H = size_t(h.cols());
  Covariance set(h.cols());
  set.add(h);
  std::vector<double> Sigma = set.matrix();         // 1/N (h-μ)ᵀ(h-μ), and with μμᵀ added: 1/N hᵀh
  for (size_t i = 0; i < H && !centered; ++i)
    for (size_t j = 0; j < H; ++j) Sigma[i * H + j] += set.mean()[i] * set.mean()[j];
  std::vector<double> squares = symmetric_eigen(std::move(Sigma), int(H), false).values, ev;
  std::reverse(squares.begin(), squares.end());
  double sum = 0;
  for (const double s : squares) ev.push_back(sum += std::max(0.0, s));
  MB_CHECK(sum > 0, "explained_variance: all {} rows are equal, there is no variance to explain", h.rows());
  for (double& e : ev) e /= sum;
  return ev;
}

std::vector<double> pearson_matrix(const Tensor& h) {
  const size_t H = size_t(h.cols());
  Covariance set(h.cols());
  set.add(h);
  std::vector<double> rho = set.matrix(), sigma(H);
  for (size_t i = 0; i < H; ++i) sigma[i] = std::sqrt(rho[i * H + i]);
  for (size_t k = 0; k < rho.size(); ++k) {
    const double both = sigma[k / H] * sigma[k % H];
    rho[k] = both == 0 ? 0 : rho[k] / both;
  }
  return rho;
}

}  // namespace minbert
