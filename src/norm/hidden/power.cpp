// Power normalization: every channel by a running quadratic mean, with an approximate backward.
//
//   Paper       Shen, Yao, Gholami, Mahoney & Keutzer, PowerNorm: Rethinking Batch Normalization in
//               Transformers, 2020, alg. 2 (it replaces alg. 1, batch normalization);
//               [LN-PEFT app.A.power]
//   Equation    forward      x̂ = x / ψ        y = γ ⊙ x̂ + β
//                            then  ψ² ← α ψ² + (1-α) ψ_B²,    ψ_B² = 1/T Σ x²
//               backward     e = γ ⊙ dL/dy    dL/dx = (e - ν ⊙ x̂) / ψ
//                            then  ν ← ν (1 - (1-α) Γ) + (1-α) Λ,  Γ = 1/T Σ x̂², Λ = 1/T Σ e ⊙ x̂
//               evaluation   y = γ ⊙ x / ψ + β
//   Shapes      x, y [T,H]   γ, β [H]   ψ², ν [H]: buffers running_psi2, running_nu; Σ over T rows
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for other statistics);
//               ψ² = 1, ν = 0
//   Gradients   training uses ψ and ν from before the step, as the algorithm does. They are
//               constants there, so the exact gradient would be e / ψ; of a norm by the batch's own
//               ψ_B it would be (e - x̂ mean(e ⊙ x̂)) / ψ_B. The algorithm has the second's form,
//               with ψ for ψ_B, and ν, which follows the mean(e ⊙ x̂) of earlier batches, for that
//               mean: Λ - ν Γ is the mean of (e - ν ⊙ x̂) ⊙ x̂, and ν moves until that is 0. In
//               evaluation ψ is constant and the gradient e / ψ.
//   Deviations  ψ is √(ψ²+ε), ε = 1e-5; α = 0.9 for both averages, given as momentum = 1-α.
//   Their code  (github.com/sIncerass/powernorm) keeps ν/(1-α) as ema_gz, which is equivalent.
//               Unlike the paper, it divides the gradient by the batch's ψ_B instead of ψ, uses ψ_B
//               in the first 10,000 steps, and first divides each token by its root mean square
//               over groups of channels.
#include "engine/fill.h"
#include "norm/entries.h"

namespace minbert {

struct PowerNorm : AffineNorm {
  explicit PowerNorm(const NormOptions& o)
      : AffineNorm(o), momentum_(o.number("momentum")),
        psi2_(buffer("running_psi2", Tensor::full({o.hidden}, 1))),
        nu_(buffer("running_nu", Tensor::zeros({o.hidden}))) {}

  // y = x / ψ ⊙ γ + β
  Tensor forward(const Tensor& x, const Batch&) const override {
    const Tensor psi = sqrt(psi2_ + eps_);                                          // [H]
    return (training() ? divide(x, psi) : x / psi) * weight_ + bias_;       // [LN-PEFT app.A.power]
  }

  // x / ψ, then the new ψ²; with the algorithm's backward, which then makes the new ν.
  Tensor divide(const Tensor& x, const Tensor& psi) const {
    const Tensor xhat = x.detach() / psi;                                           // [T,H]
    move_average(psi2_, mean_columns(square(x.detach())), momentum_);       // [LN-PEFT app.A.power]
    const auto backward = [xhat, psi, nu = nu_, m = momentum_](const Tensor& e, Grads& g) {
      g.pass(0, (e - xhat * nu) / psi);
      const Tensor Gamma = mean_columns(square(xhat)), Lambda = mean_columns(e * xhat);  // [H]
      copy_or_add(nu * (1 - m * Gamma) + m * Lambda, nu, false);
    };
    return record("power_norm", xhat, {x}, backward);
  }

  double momentum_;
  Tensor psi2_, nu_;
};

const NormEntry norm_power = {
    .name = "power",
    .formula = "x/√(ψ²+ε)⊙γ+β",
    .paper = "Shen et al. 2020",
    .over = "all tokens of all batches",
    .mixes = Mixes::batch,
    .statistics = "running ψ², ν",
    .parameters = "2H",
    .options = {{"eps", "1e-5"}, {"momentum", "0.1", 0, 1}},
    .make = new_norm<PowerNorm>,
};

}  // namespace minbert
