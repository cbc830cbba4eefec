// Isotropic batch normalization of [CLS]: dimensions of large variance, and those with many doubles, count less.
//
//   Paper       IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization
//   Equations   γ_i = Σ_j ρ_ij²                                                                    [IsoBN eq.4]
//               θ_i = (σ_i γ_i + ε)^-β                                                             [IsoBN eq.6]
//               θ̄   = √(Σ_i σ_i² / Σ_i σ_i² θ_i²) θ                                                [IsoBN eq.7]
//               ĥ   = θ̄ ⊙ h                                                                        [IsoBN eq.8]
//   Meaning     where dimensions fall into groups of equals, γ is the size of a dimension's group  [IsoBN eq.3]
//               and 1/(σγ) gives every group the same influence; eq.5 would also subtract μ, which the paper found
//               to hurt and dropped                                                                [IsoBN eq.5]
//   Shapes      h, ĥ [B,H]   σ, γ, θ, θ̄ [H]   Σ, ρ [H,H]
//   Statistics  training moves Σ (and σ) towards the batch's, then uses them; evaluation uses them [IsoBN alg.1]
//   Gradients   dL/dh = θ̄ ⊙ dL/dĥ: none through the statistics
//   Deviations  preset     ours (the default)           paper (to the letter)     authors (their published code)
//               start      the first batch's            0                         0
//               momentum   .05: keeps 95% a step        .95: forgets 95% a step   .05
//               σ          √diag(Σ), so that ρ_ii = 1   moves by itself           moves by itself
//               ρ          to [-1,1], against rounding  as it comes               to [-1,1]
//               γ          sum of ρ²                    sum of ρ²                 mean of ρ²
//               ε, β       .1, .5                       .1, .5                    .001, .5
//               eq.7       root: variance is kept       no root, as printed       root; σ² from Σ; .001 in E'
//               In all of them ρ = 0 where σ = 0. Where no dimension varies, eq.7 is 0/0 and θ̄ = 1 (authors: 0).
#include <limits>

#include "engine/arithmetic.h"
#include "engine/fill.h"
#include "engine/gemm.h"
#include "engine/launch.h"
#include "minbert/cls_norm.h"
#include "norm/cls/per_dimension.h"

namespace minbert {
namespace {

// h - μ is computed as d - mean(d), d = h - the batch's first row: no large mean cancels, and a dimension that does not
// vary comes out as 0, not as rounding.
struct MeanDifference {
  const real* h;
  int64_t cols;
  real m;
  HD real operator()(int64_t row, int64_t col) const { return (h[row * cols + col] - h[col]) / m; }
};
struct Center {
  const real *h, *mean_difference;
  real* c;
  int64_t cols;
  HD void operator()(int64_t k) const { c[k] = h[k] - h[k % cols] - mean_difference[k % cols]; }
};
struct MeanSquare {
  const real* c;
  int64_t cols;
  real m;
  HD real operator()(int64_t row, int64_t col) const { return c[row * cols + col] * c[row * cols + col] / m; }
};
struct MoveDeviation {                              // σ <- σ + α (σ_B - σ)
  real* sigma;
  const real* variance;
  real alpha;
  HD void operator()(int64_t i) const { sigma[i] += alpha * (std::sqrt(variance[i]) - sigma[i]); }
};

struct InverseDeviation {                           // σ from Σ's diagonal where it has none of its own, and 1/σ
  const real* Sigma;
  const real* own;
  int64_t cols;
  real *sigma, *inverse;
  HD void operator()(int64_t i) const {
    sigma[i] = own ? own[i] : std::sqrt(Sigma[i * cols + i]);
    inverse[i] = sigma[i] == 0 ? real(0) : 1 / sigma[i];
  }
};

// Row i of ρ = Σ / σσᵀ, its γ_i [IsoBN eq.4] and θ_i [IsoBN eq.6]: one pass over Σ, and ρ is never stored.
struct Theta {
  const real *Sigma, *sigma, *inverse;
  int cols;
  real eps, beta, bound, share;
  real* theta;
  template <class Team>
  HD void operator()(Team team, int64_t i) const {
    const real *row = Sigma + i * cols, *inv = inverse;
    const real mine = inv[i], most = bound;
    const real gamma = share * team.sum(cols, [=](int j) {
      real rho = row[j] * mine * inv[j];
      rho = rho > most ? most : rho < -most ? -most : rho;
      return rho * rho;
    });
    const real result = std::pow(nan_if_infinite(sigma[i] * gamma + eps), -beta);
    real* to = theta + i;
    team.each(1, [=](int) { to[0] = result; });
  }
};

// θ̄ = √(E / E') θ     E = Σ_i σ_i²   E' = Σ_i σ_i² θ_i²                       [IsoBN eq.7]
struct Rescale {
  const real *Sigma, *sigma;
  bool own_variances, root;
  int cols;
  real eps;
  real* theta;
  template <class Team>
  HD void operator()(Team team, int64_t) const {
    const int h = cols;
    const bool own = own_variances;
    const real *S = Sigma, *s = sigma;
    real* t = theta;
    const auto variance = [=](int64_t i) { return own ? s[i] * s[i] : S[i * h + i]; };
    const real before = team.sum(h, [=](int i) { return variance(i); });
    const real after = team.sum(h, [=](int i) { return variance(i) * t[i] * t[i]; }) + eps;
    const real quotient = before / nan_if_infinite(after), factor = root ? std::sqrt(quotient) : quotient;
    team.sync();
    team.each(h, [=](int i) { t[i] = after == 0 ? real(1) : t[i] * factor; });
  }
};

struct Scaled {
  const real* theta;
  HD real f(real h, int i) const { return theta[i] * h; }
  HD real slope(int i) const { return theta[i]; }
};

}  // namespace

const std::vector<IsoBatchNorm::Preset>& IsoBatchNorm::presets() {
  static const std::vector<Preset> table = {
      {.name = "ours", .momentum = 0.05, .eps = 0.1, .beta = 0.5, .zero_start = false, .own_sigma = false,
       .own_variances = false, .clamp = true, .mean = false, .root = true, .quotient_eps = 0},
      {.name = "paper", .momentum = 0.95, .eps = 0.1, .beta = 0.5, .zero_start = true, .own_sigma = true,
       .own_variances = true, .clamp = false, .mean = false, .root = false, .quotient_eps = 0},
      {.name = "authors", .momentum = 0.05, .eps = 1e-3, .beta = 0.5, .zero_start = true, .own_sigma = true,
       .own_variances = false, .clamp = true, .mean = true, .root = true, .quotient_eps = 1e-3}};
  return table;
}

IsoBatchNorm::IsoBatchNorm(int64_t hidden, const Preset& preset)
    : p_(preset), covariance_(&buffer("covariance", Tensor::zeros({hidden, hidden}))),
      deviation_(p_.own_sigma ? &buffer("deviation", Tensor::zeros({hidden})) : nullptr),
      count_(&buffer("count", Tensor::zeros({1}))) {}

// Asked of the device until it is so; it stays so.
bool IsoBatchNorm::has_seen_a_batch() const { return seen_ = seen_ || count_->item() > 0; }

// μ_B, σ_B, Σ_B of the batch, biased, and the moving σ and Σ a step towards them: Σ in the product itself.
void IsoBatchNorm::update(const Tensor& h) const {
  const int64_t m = h.rows(), H = h.cols();
  const Device device = h.device();
  const Tensor columns({H}, device), centered(h.shape(), device);
  launch_column_sums(device, m, H, 1, nullptr, columns, MeanDifference{h.data(), H, real(m)});
  launch_elements(device, h.size(), Center{h.data(), columns.data(), centered.data(), H});

  const real alpha = !has_seen_a_batch() && !p_.zero_start ? real(1) : real(p_.momentum);
  const ExactProducts exact;
  gemm(device, Transpose::tn, {H, H, m, centered.data(), H, centered.data(), H, covariance_->data(), H},
       alpha / real(m), 1 - alpha);
  if (p_.own_sigma) {
    launch_column_sums(device, m, H, 1, nullptr, columns, MeanSquare{centered.data(), H, real(m)});
    launch_elements(device, H, MoveDeviation{deviation_->data(), columns.data(), alpha});
  }
  copy_or_add(Tensor::full({1}, 1, device), *count_, true);
}

Tensor IsoBatchNorm::theta_bar() const {
  const int64_t H = covariance_->cols();
  const Device device = covariance_->device();
  const real* Sigma = covariance_->data();
  const Tensor sigma({H}, device), inverse({H}, device), theta({H}, device);
  launch_elements(device, H, InverseDeviation{Sigma, deviation_ ? deviation_->data() : nullptr, H, sigma.data(),
                                              inverse.data()});
  const real bound = p_.clamp ? real(1) : std::numeric_limits<real>::infinity();
  launch_rows(device, H, H * H,
              Theta{Sigma, sigma.data(), inverse.data(), int(H), real(p_.eps), real(p_.beta), bound,
                    p_.mean ? 1 / real(H) : real(1), theta.data()});
  launch_rows(device, 1, H,
              Rescale{Sigma, sigma.data(), p_.own_variances, p_.root, int(H), real(p_.quotient_eps), theta.data()});
  return theta;
}

Tensor IsoBatchNorm::forward(const Tensor& h) const {
  const Scope scope(path());
  MB_CHECK(h.cols() == covariance_->cols(), "iso-bn: h {} for statistics of {} dimensions", h.shape(),
           covariance_->cols());
  if (training()) update(h);
  else MB_CHECK(has_seen_a_batch(), "iso-bn: it has seen no batch and has no statistics to evaluate with; train first");
  const Tensor theta = theta_bar();
  return per_dimension("iso_bn", h, Scaled{theta.data()}, {theta});
}

}  // namespace minbert
