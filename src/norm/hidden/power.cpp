// Power normalization: every channel by a running quadratic mean, with a backward that makes up for its being one.
//
//   Paper       Shen, Yao, Gholami, Mahoney & Keutzer, PowerNorm: Rethinking Batch Normalization in Transformers, 2020,
//               alg. 2 (alg. 1 is what it replaces, batch normalization); [LN-PEFT app.A.power]
//   Equation    forward      x̂ = x / ψ        y = γ ⊙ x̂ + β        then  ψ² ← α ψ² + (1-α) ψ_B²,  ψ_B² = 1/T Σ x²
//               backward     e = γ ⊙ dL/dy    dL/dx = (e - ν ⊙ x̂) / ψ
//                            then  ν ← ν (1 - (1-α) Γ) + (1-α) Λ,     Γ = 1/T Σ x̂²,  Λ = 1/T Σ e ⊙ x̂
//               evaluation   y = γ ⊙ x / ψ + β
//   Shapes      x, y [T,H]   γ, β [H]   ψ², ν [H]: the buffers running_psi2, running_nu; sums over the T rows
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for other statistics); ψ² = 1, ν = 0
//   Gradients   in training the ψ and ν of before the step, as in the algorithm; Γ and ν stand in for the derivative of
//               the statistics that earlier steps went into. In evaluation ψ is a constant and the gradient is exact.
//   Deviations  ψ is √(ψ²+ε), ε = 1e-5; α = 0.9 for both averages, given as momentum = 1-α.
//   Their code  (github.com/sIncerass/powernorm) keeps ν/(1-α) as ema_gz, which comes to the same; but it divides the
//               gradient by the batch's ψ_B instead of ψ, takes the batch's own ψ_B in the first 10,000 steps, and
//               divides each token by its root mean square, over groups of channels, before all of it.
#include "minbert/norm.h"

namespace minbert {
namespace {

class PowerNorm : public AffineNorm {
 public:
  explicit PowerNorm(const NormOptions& o)
      : AffineNorm(o.hidden, o.number("eps")), momentum_(o.number("momentum")),
        psi2_(buffer("running_psi2", Tensor::full({o.hidden}, 1))),
        nu_(buffer("running_nu", Tensor::zeros({o.hidden}))) {}

  // With the gradient of constant statistics: the algorithm's where ν = 0.
  Tensor composed(const Tensor& x, const Batch&) const override {
    return x / sqrt(psi2_ + eps_) * weight_ + bias_;                                // [T,H]
  }

 protected:
  Tensor forward(const Tensor& x, const Batch&) const override {
    if (training()) return power_norm(x, weight_, bias_, psi2_, nu_, momentum_, eps_);
    return channel_norm(x, weight_, bias_, Tensor::zeros(psi2_.shape(), x.device()), psi2_, eps_);
  }

 private:
  double momentum_;
  Tensor psi2_, nu_;
};

}  // namespace

NormEntry norm_power = {
    .name = "power",
    .formula = "x/√(ψ²+ε)⊙γ+β",
    .paper = "Shen et al. 2020",
    .over = "all tokens of all batches",
    .couples = Couples::batch,
    .running_statistics = true,
    .parameters = "2H",
    .options = {{"eps", "1e-5"}, {"momentum", "0.1", 0, 1}},
    .make = [](const NormOptions& o) -> std::unique_ptr<Norm> { return std::make_unique<PowerNorm>(o); },
};

}  // namespace minbert
