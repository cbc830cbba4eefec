// Batch normalization: every channel by its mean and variance over all tokens of the batch. Of
// [CLS], over the sentences of the batch: whitening, if the covariance is assumed to be diagonal.
//
//   Paper       Ioffe & Szegedy, Batch Normalization, 2015, alg. 1-2; The Benefits of Normalization
//               Layers in Transformers [NT norm.batch]; [LN-PEFT app.A]; of [CLS]: IsoBN:
//               Fine-Tuning BERT with Isotropic Batch Normalization, sec. 3.1          [IsoBN eq.2]
//   Equation    training     y = (x - μ_B) / √(σ²_B + ε) ⊙ γ + β  μ_B, σ²_B over the T rows, biased
//                            μ ← (1-m) μ + m μ_B     σ² ← (1-m) σ² + m T/(T-1) σ²_B     m = 0.1
//               evaluation   y = (x - μ) / √(σ² + ε) ⊙ γ + β
//   Shapes      x, y [T,H], or [B,H] of [CLS]   γ, β [H]
//               μ, σ² [H]: the buffers running_mean, running_var
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for other statistics);
//               μ = 0, σ² = 1
//   Deviations  the rows are the tokens of all sentences, without padding. A single row has no
//               unbiased variance: σ² then moves towards its biased one, 0 (PyTorch refuses such a
//               batch). IsoBN's eq.2, ĥ = Λ⁻¹ (h - μ) with Λ = diag(σ), has no ε, γ and β.
#include "norm/entries.h"

namespace minbert {

struct BatchNorm : AffineNorm {
  explicit BatchNorm(const NormOptions& o)
      : AffineNorm(o), momentum_(o.number("momentum")),
        mean_(buffer("running_mean", Tensor::zeros({o.hidden}))),
        variance_(buffer("running_var", Tensor::full({o.hidden}, 1))) {}

  // The rows of x are the batch's tokens; of [CLS], its sentences.
  Tensor forward(const Tensor& x, const Batch&) const override {
    const Tensor mu = training() ? mean_columns(x) : mean_;                       // [H]
    const Tensor sigma2 = training() ? mean_columns(square(x - mu)) : variance_;  // [H]
    if (training()) {
      const NoGrad constants;
      const double T = double(x.rows());
      move_average(mean_, mu, momentum_);                                         // [NT norm.batch]
      move_average(variance_, sigma2 * (T > 1 ? T / (T - 1) : 1), momentum_);     // [NT norm.batch]
    }
    const Tensor xhat = (x - mu) / sqrt(sigma2 + eps_);  // [T,H]  [IsoBN eq.2] [LN-PEFT app.A]
    return xhat * weight_ + bias_;                       // [T,H]  [NT norm.batch]
  }

  double momentum_;
  Tensor mean_, variance_;
};

const NormEntry norm_batch = {
    .name = "batch",
    .formula = "(x-μ)/√(σ²+ε)⊙γ+β",
    .paper = "Ioffe & Szegedy 2015",
    .over = "all tokens of the batch",
    .mixes = Mixes::batch,
    .statistics = "running mean, variance",
    .parameters = "2H",
    .options = {{"eps", "1e-5"}, {"momentum", "0.1", 0, 1}},
    .make = new_norm<BatchNorm>,
};

const NormEntry cls_batch = {
    .name = "batch",
    .formula = "(h-μ)/√(σ²+ε)⊙γ+β",
    .paper = "[IsoBN eq.2]",
    .over = "the batch, by dimension",
    .mixes = Mixes::batch,
    .statistics = "running mean, variance",
    .parameters = "2H",
    .place = ClsPlace::pooled,
    .options = {{"eps", "1e-5"}, {"momentum", "0.1", 0, 1}},
    .make = new_norm<BatchNorm>,
};

}  // namespace minbert
