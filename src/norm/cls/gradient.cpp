// Gradient normalization of [CLS]: the identity in the forward pass; the backward gives the
// gradients of all dimensions the same size.
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    μ_j = E|g_bj| over the batch   θ = mean of μ                           [TA sec.4.3]
//               γ_j = (θ / (μ_j + εθ))^α       g' = g ⊙ γ
//   Shapes      h, g = dL/dh, g' [B,H]   μ, γ [H]
//   Strength    α = 1: all dimensions alike; α = 0: off
//   Deviations  ε is relative to θ, since g contains the factor 1/B of the loss; the paper has
//               γ = (θ / (μ + ε))^α. For μ it writes ‖g‖₂, which of a row would be one number for
//               all dimensions: we take it of one element, |g_bj|. A gradient of zeros (θ = 0)
//               stays as it is.
#include "minbert/norm.h"

namespace minbert {

Tensor normalize_gradient(const Tensor& h, double alpha, double eps) {
  MB_CHECK(alpha >= 0 && eps > 0,
           "gradient normalization: alpha {} and eps {}; expected alpha >= 0 and eps > 0", alpha,
           eps);
  return record("normalize_gradient", h.detach(), {h}, [alpha, eps](const Tensor& g, Grads& grads) {
    const Tensor mu = mean_columns(abs(g));                       // [H]  μ = E|g|  [TA sec.4.3]
    const Tensor theta = mean(mu);                                // []   θ = Avg(μ)
    // (μ/θ + ε)^-α is the equation's γ without underflow for a tiny θ. If θ = 0, all of g is 0.
    const Tensor gamma = pow(mu / (theta + (1 - sign(theta))) + eps, -alpha);        // [H]
    grads.pass(0, g * gamma);                                     // [B,H]  g' = g γ
  });
}

}  // namespace minbert
