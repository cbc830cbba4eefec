// Layer normalization: every token by its own mean and variance.
//
//   Paper       Ba, Kiros & Hinton, Layer Normalization, 2016; BERT, Devlin et al. 2018;
//               [LN-PEFT eq.3-5] [NT norm.layer]
//   Equation    y = (x - μ) / √(σ² + ε) ⊙ γ + β                                       [CLN eq.1-3]
//   Shapes      x, y [T,H]   γ, β [H]   μ, σ² over the H features of a row, σ² biased
//   Starts as   γ = 1, β = 0, or a pre-trained checkpoint's
//   Deviations  none; the fused kernel, src/ops/layer_norm.cpp, is tested against the composed form
//   Plain       layer_norm in examples/plain_bert.cpp
#include "norm/entries.h"

namespace minbert {

struct PlainLayerNorm : AffineNorm {
  using AffineNorm::AffineNorm;

  // Equation by equation [NT norm.layer]
  Tensor composed(const Tensor& x, const Batch&) const override {
    const Tensor mu = mean_rows(x);                          // [T,1]  [CLN eq.2] [LN-PEFT eq.3]
    const Tensor sigma2 = mean_rows(square(x - mu));         // [T,1]  [CLN eq.3] [LN-PEFT eq.3]
    const Tensor xhat = (x - mu) / sqrt(sigma2 + eps_);      // [T,H]  [LN-PEFT eq.4]
    return xhat * weight_ + bias_;                           // [T,H]  [CLN eq.1] [LN-PEFT eq.5]
  }

  Tensor forward(const Tensor& x, const Batch&) const override {
    return layer_norm(x, weight_, bias_, eps_);
  }
};

const NormEntry norm_layer = {
    .name = "layer",
    .formula = "(x-μ)/√(σ²+ε)⊙γ+β",
    .paper = "Ba, Kiros & Hinton 2016 [CLN eq.1-3]",
    .over = "a token's channels",
    .parameters = "2H",
    .options = {layer_norm_eps},
    .make = new_norm<PlainLayerNorm>,
};

}  // namespace minbert
