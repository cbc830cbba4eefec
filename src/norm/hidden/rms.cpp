// RMSNorm: every token divided by its root mean square.
//
//   Paper       Zhang & Sennrich, Root Mean Square Layer Normalization, 2019, eq. 4
//   Equation    y = x / RMS(x) ⊙ g          RMS(x) = √(1/H Σ x_i² + ε)
//   Shapes      x, y [T,H]   g [H], here "weight"
//   Starts as   g = 1, or a LayerNorm checkpoint's weight; its bias is not used
//   Deviations  the paper has no ε; it is added under the root, as in LayerNorm
#include "norm/entries.h"

namespace minbert {

struct RmsNorm : Norm {
  explicit RmsNorm(const NormOptions& o)
      : eps_(o.number("eps", o.layer_norm_eps)),
        weight_(parameter("weight", {o.hidden}, Init::ones, Decay::no)) {}

  Tensor forward(const Tensor& x, const Batch&) const override {
    return x / sqrt(mean_rows(square(x)) + eps_) * weight_;                         // [T,H]
  }

  double eps_;
  Tensor weight_;
};

const NormEntry norm_rms = {
    .name = "rms",
    .formula = "x/√(mean x²+ε)⊙g",
    .paper = "Zhang & Sennrich 2019",
    .over = "a token's channels",
    .parameters = "H",
    .options = {layer_norm_eps},
    .make = new_norm<RmsNorm>,
};

}  // namespace minbert
