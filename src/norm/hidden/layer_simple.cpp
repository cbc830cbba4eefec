// LayerNorm-simple: LayerNorm without weight and bias, which may overfit.
//
//   Paper       Xu, Sun, Zhang, Zhao & Lin, Understanding and Improving Layer Normalization, 2019
//               [LN-PEFT app.A.simple]
//   Equation    y = (x - μ) / √(σ² + ε)
//   Shapes      x, y [T,H]   μ, σ² over the H features of a row, σ² biased
//   Starts as   LayerNorm at γ = 1, β = 0; a LayerNorm checkpoint's weight and bias are not used
//   Deviations  the paper writes 1/σ; the ε under the root is LayerNorm's
#include "norm/entries.h"

namespace minbert {

struct LayerNormSimple : Norm {
  explicit LayerNormSimple(const NormOptions& o) : eps_(o.number("eps", o.layer_norm_eps)) {}

  Tensor forward(const Tensor& x, const Batch&) const override {
    const Tensor mu = mean_rows(x);                                // [T,1]
    const Tensor sigma2 = mean_rows(square(x - mu));               // [T,1]
    return (x - mu) / sqrt(sigma2 + eps_);                         // [T,H]  [LN-PEFT app.A.simple]
  }

  double eps_;
};

const NormEntry norm_layer_simple = {
    .name = "layer-simple",
    .formula = "(x-μ)/√(σ²+ε)",
    .paper = "Xu et al. 2019",
    .over = "a token's channels",
    .options = {layer_norm_eps},
    .make = new_norm<LayerNormSimple>,
};

}  // namespace minbert
