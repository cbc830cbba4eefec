// Batch normalization of [CLS]: whitening that takes the covariance for diagonal.
//
//   Paper       Ioffe & Szegedy 2015; IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization, sec. 3.1
//   Equation    ĥ = Λ⁻¹ (h - μ) ⊙ γ + β     Λ = diag(√(σ² + ε))                                     [IsoBN eq.2]
//   Shapes      h, ĥ [B,H]   γ, β, μ, σ² [H]
//   Statistics  the batch's in training; in evaluation running_mean and running_var, as in src/norm/hidden/batch.cpp
//   Starts as   γ = 1, β = 0
//   Deviations  eq.2 has neither ε nor γ and β, which batch normalization has
#include "minbert/cls_norm.h"

namespace minbert {

ClsBatchNorm::ClsBatchNorm(int64_t hidden, double momentum, double eps)
    : momentum_(momentum), eps_(eps), weight_(&parameter("weight", {hidden}, Init::ones, Decay::no)),
      bias_(&parameter("bias", {hidden}, Init::zeros, Decay::no)),
      mean_(&buffer("running_mean", Tensor::zeros({hidden}))),
      variance_(&buffer("running_var", Tensor::full({hidden}, 1))) {}

Tensor ClsBatchNorm::forward(const Tensor& h) const {
  const Scope scope(path());
  if (training()) return batch_norm(h, *weight_, *bias_, *mean_, *variance_, momentum_, eps_);
  return channel_norm(h, *weight_, *bias_, *mean_, *variance_, eps_);
}

}  // namespace minbert
