// The isotropy of [CLS] embeddings: their variances, their correlations, and the share of the
// variance that the first k directions have.
//
//   Paper       IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization
//   Equation    EV_k(h) = sum_{i<=k} λ_i² / sum_j λ_j²   λ_i the singular values of h  [IsoBN eq.9]
//   Shapes      h [N,H]   EV [H]   ρ [H,H]
//   Deviations  λ_i² are computed as eigenvalues of hᵀh (H numbers, whatever N), by LAPACK's
//               dsyevd: a sum of squares loses nothing by that. h is centered first: the paper says
//               that EV does not depend on the mean, and only then is that so.
#include "papers/isobn/isotropy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/lapack.h"

namespace minbert {
namespace {

size_t side(const std::vector<double>& matrix) {
  return size_t(std::lround(std::sqrt(double(matrix.size()))));
}

}  // namespace

// EV_k for k = 1 .. H. The eigenvalues of Σ are λ²/N, and N stands in both sums.
std::vector<double> explained_variance(std::vector<double> Sigma) {
  const int H = int(side(Sigma));
  std::vector<double> squares = symmetric_eigen(std::move(Sigma), H, false).values, ev;
  std::reverse(squares.begin(), squares.end());
  double sum = 0;
  for (const double s : squares) ev.push_back(sum += std::max(0.0, s));                          // [IsoBN eq.9]
  MB_CHECK(sum > 0, "explained_variance: all rows are equal, there is no variance to explain");
  for (double& e : ev) e /= sum;                                                                 // [IsoBN eq.9]
  return ev;
}

// ρ_ij = Σ_ij / (σ_i σ_j)
std::vector<double> pearson_matrix(std::vector<double> Sigma) {
  const size_t H = side(Sigma);
  std::vector<double> sigma(H);
  for (size_t i = 0; i < H; ++i) sigma[i] = std::sqrt(Sigma[i * H + i]);
  for (size_t k = 0; k < Sigma.size(); ++k) {
    const double both = sigma[k / H] * sigma[k % H];
    Sigma[k] = both == 0 ? 0 : Sigma[k] / both;                                                  // [IsoBN sec.2.2]
  }
  return Sigma;
}

void set_statistics(Norm& norm, const std::vector<double>& mean, const std::vector<double>& Sigma) {
  const size_t H = mean.size();
  std::vector<double> variance(H);
  for (size_t i = 0; i < H; ++i) variance[i] = Sigma[i * H + i];
  for (const Parameter& buffer : norm.own_buffers()) {
    const std::string& name = buffer.name;
    const std::vector<double>* values = name == "covariance"                       ? &Sigma
                                        : name == "running_var"                    ? &variance
                                        : name == "running_mean" || name == "mean" ? &mean
                                                                                   : nullptr;
    if (name == "count") buffer.value.copy_from(std::vector<real>{1});
    else if (values) buffer.value.copy_from(std::vector<real>(values->begin(), values->end()));
    else
      fail(formatted(
          "the statistics \"{}\" of this norm of [CLS] do not follow from mean and covariance",
          name));
  }
}

std::vector<double> covariance_after(const Norm& norm, const std::vector<double>& Sigma) {
  const NoGrad no_tape;
  const ExactProducts exact;                        // A itself, also under --matmul bf16
  const size_t H = side(Sigma);
  std::vector<real> unit(H * H);
  for (size_t i = 0; i < H; ++i) unit[i * H + i] = 1;
  const Shape square = {int64_t(H), int64_t(H)};
  const Tensor zero = Tensor::zeros({1, int64_t(H)});
  // row i: A e_i
  const std::vector<real> At = (norm(Tensor::from(square, unit)) - norm(zero)).values();
  const std::vector<real> doubled = (norm(Tensor::from(square, unit) * 2) - norm(zero)).values();
  for (size_t k = 0; k < At.size(); ++k)
    MB_CHECK(std::abs(doubled[k] - 2 * At[k]) <= 1e-3 * (1 + std::abs(At[k])),
             "this norm of [CLS] is not linear in h");
  // leftᵀ right, without the zeros of a diagonal A
  const auto product = [H](const auto& left, const auto& right) {
    std::vector<double> all(H * H);
#pragma omp parallel for
    for (size_t i = 0; i < H; ++i)
      for (size_t k = 0; k < H; ++k)
        if (const double v = double(left[k * H + i]); v != 0)
          for (size_t j = 0; j < H; ++j) all[i * H + j] += v * double(right[k * H + j]);
    return all;
  };
  return product(product(Sigma, At), At);           // (Σ Aᵀ)ᵀ Aᵀ = A Σ Aᵀ, since Σ is symmetric
}

// d(k, i ∪ j) = (n_i d(k,i) + n_j d(k,j)) / (n_i + n_j)                       Lance & Williams 1967
Clusters average_linkage(const std::vector<double>& rho, double cut) {
  const size_t H = side(rho);
  std::vector<double> distance(H * H);
  for (size_t k = 0; k < rho.size(); ++k) distance[k] = 1 - std::abs(rho[k]);
  std::vector<std::vector<int>> members(H);
  for (size_t i = 0; i < H; ++i) members[i] = {int(i)};
  std::vector<size_t> alive(H);
  std::iota(alive.begin(), alive.end(), size_t(0));
  Clusters clusters{{}, std::vector<int>(H)};
  const auto remember = [&] {
    for (size_t c = 0; c < alive.size(); ++c)
      for (const int d : members[alive[c]]) clusters.cluster[size_t(d)] = int(c);
  };
  bool cut_reached = false;
  while (alive.size() > 1) {
    size_t a = 0, b = 1;
    for (size_t i = 0; i < alive.size(); ++i)
      for (size_t j = i + 1; j < alive.size(); ++j)
        if (distance[alive[i] * H + alive[j]] < distance[alive[a] * H + alive[b]]) {
          a = i;
          b = j;
        }
    const size_t i = alive[a], j = alive[b];
    if (!cut_reached && distance[i * H + j] > cut) {
      remember();
      cut_reached = true;
    }
    const double n_i = double(members[i].size()), n_j = double(members[j].size());
    for (const size_t k : alive)
      distance[k * H + i] = distance[i * H + k] =
          (n_i * distance[i * H + k] + n_j * distance[j * H + k]) / (n_i + n_j);
    members[i].insert(members[i].end(), members[j].begin(), members[j].end());
    alive.erase(alive.begin() + int64_t(b));
  }
  if (!cut_reached) remember();
  clusters.order = members[alive[0]];
  return clusters;
}

}  // namespace minbert
