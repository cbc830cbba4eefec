// Variance-only LayerNorm: LayerNorm that divides by the deviation but subtracts no mean.
//
//   Paper       Wang, She, Zhang & Zhang, Correct Normalization Matters, 2020 (VO-LN);
//               [LN-PEFT app.A.variance]
//   Equation    y = x / √(σ² + ε) ⊙ γ + β          σ² = 1/H Σ (x_i - μ)²
//   Shapes      x, y [T,H]   γ, β [H]   μ, σ² over the H features of a row, σ² biased
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's, which were trained on rows of mean 0
//   Deviations  weight and bias stay, as in LN-PEFT, which drops only the mean of its equation (4).
//               A constant row has no deviation: it is divided by √ε, as the equation says.
#include "norm/entries.h"

namespace minbert {

struct VarianceOnly : AffineNorm {
  using AffineNorm::AffineNorm;

  Tensor forward(const Tensor& x, const Batch&) const override {
    const Tensor sigma2 = mean_rows(square(x - mean_rows(x)));   // [T,1]
    return x / sqrt(sigma2 + eps_) * weight_ + bias_;            // [T,H]  [LN-PEFT app.A.variance]
  }
};

const NormEntry norm_variance_only = {
    .name = "variance-only",
    .formula = "x/√(σ²+ε)⊙γ+β",
    .paper = "Wang et al. 2020",
    .over = "a token's channels",
    .parameters = "2H",
    .options = {layer_norm_eps},
    .make = new_norm<VarianceOnly>,
};

}  // namespace minbert
