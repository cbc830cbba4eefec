// Isotropic batch normalization of [CLS]: scales down dimensions with large variance or many
// correlated partners.
//
//   Paper       IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization
//   Equations   ĥ   = (h - μ) / (σ |G|)     |G| the size of a dimension's group      [IsoBN eq.3]
//               γ_i = Σ_j ρ_ij², which is |G| if dimensions are groups of equal ones [IsoBN eq.4]
//               ĥ   = (h - μ) / (σ γ)                                                [IsoBN eq.5]
//               θ   = (σ γ + ε)^-β                                                   [IsoBN eq.6]
//               θ̄   = √(Σ_i σ_i² / Σ_i σ_i² θ_i²) θ                                  [IsoBN eq.7]
//               ĥ   = θ̄ ⊙ h: the paper found that subtracting μ hurts                [IsoBN eq.8]
//   Shapes      h, ĥ [B,H]   μ, σ, γ, θ, θ̄ [H]   Σ, ρ [H,H]
//   Statistics  training moves Σ, σ and μ towards the batch's, then uses them; evaluation only uses
//               them [IsoBN alg.1]
//   Gradients   dL/dh = θ̄ ⊙ dL/dĥ; none passes through the statistics
//   Deviations  preset     ours (the default)      paper (to the letter)   authors (published code)
//               start      the first batch's       0                         0
//               momentum   .05: keeps 95% a step   .95: forgets 95% a step   .05
//               σ          √diag(Σ): ρ_ii = 1      has its own average       has its own average
//               ρ          clamped to [-1,1]       not clamped               clamped to [-1,1]
//               γ          sum of ρ²               sum of ρ²                 mean of ρ²
//               ε, β       .1, .5                  .1, .5                    .001, .5
//               eq.7       root: keeps variance    no root, as printed    root; σ² of Σ; .001 in E'
//               Presets eq3 and eq5 compute the first two forms, with the statistics of ours and
//               ε = .1 added to σ |G| and σ γ. The paper names no clustering for eq3: a chain of
//               |ρ| >= `correlated` joins dimensions into a group. In all presets ρ = 0 where
//               σ = 0; where no dimension varies, eq.7 is 0/0 and θ̄ = 1 (authors: 0). A last batch
//               of few examples counts as much as any other (the authors drop it).
//   Their code  github.com/INK-USC/IsoBN, model.py
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/fill.h"
#include "engine/names.h"
#include "norm/entries.h"

namespace minbert {

namespace {

struct Preset {
  const char* name;
  double momentum = 0.05, eps = 0.1, beta = 0.5;
  bool zero_start = false;                // false: averages start as the first batch's statistics
  bool own_sigma = false;                 // σ has its own average; false: the root of Σ's diagonal
  bool own_variances = false;             // eq.7 takes its variances from that σ; false: from Σ
  bool clamp = true;                      // ρ to [-1,1]
  bool mean = false;                      // γ is the mean of ρ²; false: the sum
  bool rescale = true, root = true;       // eq.7, and the root of its quotient
  double quotient_eps = 0;                // added to eq.7's denominator
  bool subtract_mean = false, hard_groups = false;  // eq.5, eq.3
};
const std::vector<Preset> presets = {
    {.name = "ours"},
    {.name = "paper", .momentum = 0.95, .zero_start = true, .own_sigma = true,
     .own_variances = true, .clamp = false, .root = false},
    {.name = "authors", .eps = 1e-3, .zero_start = true, .own_sigma = true, .mean = true,
     .quotient_eps = 1e-3},
    {.name = "eq5", .beta = 1, .rescale = false, .subtract_mean = true},
    {.name = "eq3", .beta = 1, .rescale = false, .subtract_mean = true, .hard_groups = true},
};

// The size of each dimension's group [H], from each dimension's group.
Tensor group_sizes(const std::vector<int64_t>& group) {
  std::vector<real> sizes;
  for (const int64_t g : group) sizes.push_back(real(std::count(group.begin(), group.end(), g)));
  return Tensor::from({int64_t(group.size())}, sizes);                             // [IsoBN eq.3]
}

// A chain of |ρ| >= min_rho joins dimensions into a group.
std::vector<int64_t> correlated_groups(const Tensor& rho, double min_rho) {
  const size_t H = size_t(rho.cols());
  const std::vector<real> r = rho.values();
  std::vector<int64_t> group(H);                    // begins as its only dimension
  std::iota(group.begin(), group.end(), 0);
  for (size_t i = 0; i < H; ++i)
    for (size_t j = 0; j < i; ++j)
      if (std::abs(double(r[i * H + j])) >= min_rho && group[i] != group[j])
        std::replace(group.begin(), group.end(), int64_t(group[i]), int64_t(group[j]));
  return group;
}

}  // namespace

struct IsoBatchNorm : Norm {
  explicit IsoBatchNorm(const NormOptions& o)
      : preset_(presets[index_of(o.values.at("preset"), names_of(presets), "preset")]),
        momentum_(o.number("momentum", preset_.momentum)), eps_(o.number("eps", preset_.eps)),
        beta_(o.number("beta", preset_.beta)), correlated_(o.number("correlated")),
        covariance_(buffer("covariance", Tensor::zeros({o.hidden, o.hidden}))),
        count_(buffer("count", Tensor::zeros({1}))) {
    if (preset_.own_sigma) deviation_ = buffer("deviation", Tensor::zeros({o.hidden}));
    if (preset_.subtract_mean) mean_ = buffer("mean", Tensor::zeros({o.hidden}));
    std::vector<int32_t> diagonal;
    for (int64_t i = 0; i < o.hidden; ++i) diagonal.push_back(int32_t(i * (o.hidden + 1)));
    diagonal_ = diagonal;
  }

  Tensor forward(const Tensor& h, const Batch&) const override {
    MB_CHECK(h.cols() == covariance_.cols(), "iso-bn: h {} for statistics of {} dimensions",
             h.shape(), covariance_.cols());
    if (training()) update(h);
    MB_CHECK(has_statistics(),
             "iso-bn: it has seen no batch and has no statistics to evaluate with; train first");
    const Tensor input = preset_.subtract_mean ? h - mean_ : h;       // [IsoBN eq.3] [IsoBN eq.5]
    return input * theta_bar();                      // [B,H] ĥ  [IsoBN eq.8] [IsoBN alg.1]
  }

  // Reads count_ from the device only until it is above 0.
  bool has_statistics() const { return seen_ = seen_ || count_.item() > 0; }

  // Moves the averages one step towards the batch's statistics, which are biased:
  // Σ ← Σ + α (Σ_B - Σ), and likewise σ and μ.
  void update(const Tensor& h) const {
    const NoGrad constants;
    const double alpha = !has_statistics() && !preset_.zero_start ? 1 : momentum_;
    const auto move = [&](const Tensor& running, const Tensor& now) {
      move_average(running, now, alpha);                                           // [IsoBN alg.1]
    };
    // h - μ computed from h minus a row of the batch: a large mean costs no digits, and constant
    // dimensions give exactly 0.
    const Tensor d = h - index_select(h, {0});
    const Tensor centered = d - mean_columns(d);                                     // [B,H]
    const ExactProducts exact;
    move(covariance_, matmul_tn(centered, centered) / double(h.rows()));     // Σ_B  [IsoBN alg.1]
    if (deviation_) move(deviation_, sqrt(mean_columns(square(centered))));  // σ_B  [IsoBN alg.1]
    if (mean_) move(mean_, mean_columns(h));                                 // μ_B  [IsoBN alg.1]
    copy_or_add(Tensor::full({1}, 1, h.device()), count_, true);
  }

  // |G| of eq.3, or eq.4's γ, which stands for it: [H]
  Tensor gamma_of(const Tensor& rho) const {
    if (preset_.hard_groups)
      return group_sizes(correlated_groups(rho, correlated_));                       // [IsoBN eq.3]
    const Tensor squares = square(rho);                                              // [IsoBN eq.4]
    return (preset_.mean ? mean_rows(squares) : sum_rows(squares)).reshape({rho.cols()});
  }

  Tensor theta_bar() const {                        // [H]
    const NoGrad constants;
    const int64_t H = covariance_.cols();
    const Tensor& Sigma = covariance_;                                // [H,H]
    const Tensor variance = index_select(Sigma.reshape({H * H, 1}), diagonal_).reshape({H});
    const Tensor sigma = deviation_ ? deviation_ : sqrt(variance);    // [H]
    const Tensor divisor = sigma + (1 - sign(sigma));                 // 1 where σ = 0: Σ is 0 there
    Tensor rho = Sigma / divisor / divisor.reshape({H, 1});           // [H,H]  [IsoBN alg.1]
    if (preset_.clamp) rho = clamp(rho, -1, 1);
    const Tensor theta = pow(sigma * gamma_of(rho) + eps_, -beta_);  // [IsoBN eq.3] [IsoBN eq.5-6]
    if (!preset_.rescale) return theta;                               // [IsoBN eq.3] [IsoBN eq.5]
    const Tensor sigma2 = preset_.own_variances ? square(sigma) : variance;
    const Tensor before = sum(sigma2);                                               // [IsoBN eq.7]
    const Tensor after = sum(sigma2 * square(theta)) + preset_.quotient_eps;         // [IsoBN eq.7]
    const Tensor nothing_varies = 1 - sign(after);                    // 1 if so, else 0
    const Tensor quotient = before / (after + nothing_varies);                       // [IsoBN eq.7]
    return theta * (preset_.root ? sqrt(quotient) : quotient) + nothing_varies;      // [IsoBN eq.7]
  }

  Preset preset_;
  double momentum_, eps_, beta_, correlated_;
  Tensor covariance_, count_;                 // [H,H]; [1] batches so far
  Tensor deviation_, mean_;                   // [H] averages of σ and μ, in presets that have them
  Indices diagonal_;                          // [H] positions of the diagonal in Σ
  mutable bool seen_ = false;
};

const NormEntry cls_iso_bn = {
    .name = "iso-bn",
    .formula = "θ̄⊙h",
    .paper = "[IsoBN eq.3-8]",
    .over = "the batches so far",
    .mixes = Mixes::batch,
    .statistics = "moving covariance",
    .place = ClsPlace::pooled,
    .options = {{"preset", "ours", 0, 0, names_of(presets)},
                {.name = "beta", .source = "the preset's"},
                {.name = "eps", .source = "the preset's"},
                {.name = "momentum", .max = 1, .source = "the preset's"},
                {"correlated", "0.5", 0, 1}},
    .make = new_norm<IsoBatchNorm>,
};

}  // namespace minbert
