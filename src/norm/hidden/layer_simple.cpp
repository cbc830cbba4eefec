// LayerNorm-simple: LayerNorm without gain and bias, which may overfit.
//
//   Paper       Xu, Sun, Zhang, Zhao & Lin, Understanding and Improving Layer Normalization, 2019
//               [LN-PEFT app.A.simple]
//   Equation    y = (x - μ) / √(σ² + ε)
//   Shapes      x, y [T,H]   μ, σ² over the H features of a row, σ² biased
//   Starts as   LayerNorm at γ = 1, β = 0; a LayerNorm checkpoint's weight and bias find no use
//   Deviations  the paper writes 1/σ; the ε under the root is LayerNorm's
#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

class LayerNormSimple : public Norm {
 public:
  explicit LayerNormSimple(double eps) : eps_(eps) {}

  Tensor forward(const ResidualSum& x, const Batch&) const override {
    const Scope scope(path());
    return layer_norm(x, {}, {}, eps_);
  }
  Tensor composed(const Tensor& x, const Batch&) const override {
    const Tensor centered = sub(x, mean_rows(x));
    return mul(centered, inverse_root_composed(mean_rows(square(centered)), eps_));
  }

 private:
  double eps_;
};

}  // namespace

std::unique_ptr<Norm> make_layer_simple(const NormOptions& o) {
  return std::make_unique<LayerNormSimple>(layer_eps(o));
}

}  // namespace minbert
