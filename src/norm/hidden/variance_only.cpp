// Variance-only LayerNorm: LayerNorm that divides by the deviation but subtracts no mean.
//
//   Paper       Wang, She, Zhang & Zhang, Correct Normalization Matters, 2020 (VO-LN); [LN-PEFT app.A.variance]
//   Equation    y = x / √(σ² + ε) ⊙ γ + β          σ² = 1/H Σ (x_i - μ)²
//   Shapes      x, y [T,H]   γ, β [H]   μ, σ² over the H features of a row, σ² biased
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's, which were trained about a mean of 0
//   Deviations  gain and bias stay, as LN-PEFT describes it: only equation (4)'s mean goes. At their start
//               they are 1 and 0. A constant row has no deviation: it is divided by √ε, as the equation says.
#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

class VarianceOnly : public Norm {
 public:
  VarianceOnly(int64_t hidden, double eps)
      : eps_(eps), weight_(&parameter("weight", {hidden}, Init::ones, Decay::no)),
        bias_(&parameter("bias", {hidden}, Init::zeros, Decay::no)) {}

  Tensor forward(const ResidualSum& x, const Batch&) const override {
    const Scope scope(path());
    return variance_norm(x, *weight_, *bias_, eps_);
  }
  Tensor composed(const Tensor& x, const Batch&) const override {
    const Tensor variance = mean_rows(square(sub(x, mean_rows(x))));                 // [T,1]
    return add(mul(mul(x, inverse_root_composed(variance, eps_)), *weight_), *bias_);
  }

 private:
  double eps_;
  Tensor *weight_, *bias_;
};

}  // namespace

std::unique_ptr<Norm> make_variance_only(const NormOptions& o) {
  return std::make_unique<VarianceOnly>(o.hidden, layer_eps(o));
}

}  // namespace minbert
