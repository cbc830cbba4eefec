// Layer normalization: every token by its own mean and variance.
//
//   Paper       Ba, Kiros & Hinton, Layer Normalization, 2016; BERT, Devlin et al. 2018
//   Equation    y = (x - μ) / √(σ² + ε) ⊙ γ + β                                       [CLN eq.1-3]
//   Shapes      x, y [T,H]   γ, β [H]   μ, σ² over the H features of a row, σ² biased
//   Starts as   γ = 1, β = 0
//   Deviations  none; the fused kernel is src/ops/layer_norm.cpp, the composed form below its oracle
#include "minbert/norm.h"

namespace minbert {

LayerNorm::LayerNorm(int64_t hidden, double eps)
    : eps_(eps), weight_(&parameter("weight", {hidden}, Init::ones, Decay::no)),
      bias_(&parameter("bias", {hidden}, Init::zeros, Decay::no)) {}

Tensor LayerNorm::forward(const Tensor& x, const Batch&) const {
  const Scope scope(path());
  return layer_norm(x, *weight_, *bias_, eps_);
}

Tensor layer_norm_composed(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  const Tensor mu = mean_rows(x);                                                    // [T,1]  [CLN eq.2]
  const Tensor centred = sub(x, mu);
  const Tensor variance = mean_rows(square(centred));                                // [T,1]  [CLN eq.3]
  const Tensor epsilon = Tensor::full(variance.shape(), real(eps));
  const Tensor inverse = exp(scale(log(add(variance, epsilon)), real(-0.5)));        // 1/√v = exp(-½ log v)
  return add(mul(mul(centred, inverse), gamma), beta);                               // [T,H]  [CLN eq.1]
}

}  // namespace minbert
