// Layer normalization: every token by its own mean and variance.
//
//   Paper       Ba, Kiros & Hinton, Layer Normalization, 2016; BERT, Devlin et al. 2018; [LN-PEFT eq.3-5]
//               [NT norm.layer]
//   Equation    y = (x - μ) / √(σ² + ε) ⊙ γ + β                                       [CLN eq.1-3]
//   Shapes      x, y [T,H]   γ, β [H]   μ, σ² over the H features of a row, σ² biased
//   Starts as   γ = 1, β = 0, or a pre-trained checkpoint's
//   Deviations  none; the fused kernel is src/ops/layer_norm.cpp, the composed form below its oracle
#include "norm/hidden/hidden.h"

namespace minbert {

LayerNorm::LayerNorm(int64_t hidden, double eps)
    : eps_(eps), weight_(&parameter("weight", {hidden}, Init::ones, Decay::no)),
      bias_(&parameter("bias", {hidden}, Init::zeros, Decay::no)) {}

Tensor LayerNorm::forward(const ResidualSum& x, const Batch&) const {
  const Scope scope(path());
  return layer_norm(x, *weight_, *bias_, eps_);
}

Tensor LayerNorm::composed(const Tensor& x, const Batch&) const {
  const Tensor mu = mean_rows(x);                                                    // [T,1]  [CLN eq.2]
  const Tensor centered = sub(x, mu);
  const Tensor variance = mean_rows(square(centered));                               // [T,1]  [CLN eq.3]
  const Tensor xhat = mul(centered, inverse_root_composed(variance, eps_));          // [T,H]
  return add(mul(xhat, *weight_), *bias_);                                           // [T,H]  [CLN eq.1]
}

std::unique_ptr<Norm> make_layer(const NormOptions& o) { return std::make_unique<LayerNorm>(o.hidden, layer_eps(o)); }

}  // namespace minbert
