// Instance normalization: every channel by its mean and variance over the tokens of a sentence.
//
//   Paper       Ulyanov, Vedaldi & Lempitsky, Instance Normalization, 2016, eq. 2; The Benefits of
//               Normalization Layers in Transformers [NT norm.instance]
//   Equation    y = (x - μ_b) / √(σ_b² + ε) ⊙ γ + β
//   Shapes      x, y [T,H]   γ, β [H]   μ_b, σ_b² (biased) over sentence b's tokens, by channel
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for other statistics)
//   Deviations  affine (the paper has no γ, β) and without running statistics, so that training and
//               evaluation agree. A sentence of one token is its own mean: y = β (PyTorch refuses
//               it).
#include "norm/entries.h"

namespace minbert {

struct InstanceNorm : AffineNorm {
  using AffineNorm::AffineNorm;

  Tensor forward(const Tensor& x, const Batch& batch) const override {
    const auto mean = [&](const Tensor& v) {
      return index_select(mean_sentences(v, batch), batch.sentence);
    };
    const Tensor mu = mean(x);                                       // [T,H]
    const Tensor sigma2 = mean(square(x - mu));                      // [T,H]
    return (x - mu) / sqrt(sigma2 + eps_) * weight_ + bias_;         // [T,H]  [NT norm.instance]
  }
};

const NormEntry norm_instance = {
    .name = "instance",
    .formula = "(x-μ)/√(σ²+ε)⊙γ+β",
    .paper = "Ulyanov et al. 2016",
    .over = "a sentence's tokens",
    .mixes = Mixes::sentence,
    .parameters = "2H",
    .options = {{"eps", "1e-5"}},
    .make = new_norm<InstanceNorm>,
};

}  // namespace minbert
