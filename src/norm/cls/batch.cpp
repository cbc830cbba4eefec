// Batch normalization of [CLS]: whitening under the assumption that the covariance is diagonal.
//
//   Paper       Ioffe & Szegedy 2015; IsoBN: Fine-Tuning BERT with Isotropic Batch Normalization,
//               sec. 3.1
//   Equation    ĥ = Λ⁻¹ (h - μ) ⊙ γ + β     Λ = diag(√(σ² + ε))                        [IsoBN eq.2]
//   Shapes      h, ĥ [B,H]   γ, β, μ, σ² [H]
//   Statistics  of the batch in training; in evaluation the buffers running_mean and running_var,
//               as in src/norm/hidden/batch.cpp
//   Starts as   γ = 1, β = 0
//   Deviations  ε, γ and β are those of batch normalization; eq.2 has none of them
#include "minbert/cls_norm.h"

namespace minbert {
namespace {

class ClsBatchNorm : public ClsNorm {
 public:
  explicit ClsBatchNorm(const NormOptions& o)
      : momentum_(o.number("momentum")), eps_(o.number("eps")),
        weight_(parameter("weight", {o.hidden}, Init::ones, Decay::no)),
        bias_(parameter("bias", {o.hidden}, Init::zeros, Decay::no)),
        mean_(buffer("running_mean", Tensor::zeros({o.hidden}))),
        variance_(buffer("running_var", Tensor::full({o.hidden}, 1))) {}

 protected:
  Tensor forward(const Tensor& h) const override {
    if (training()) return batch_norm(h, weight_, bias_, mean_, variance_, momentum_, eps_);
    return channel_norm(h, weight_, bias_, mean_, variance_, eps_);
  }

 private:
  double momentum_, eps_;
  Tensor weight_, bias_, mean_, variance_;          // [H]
};

}  // namespace

ClsNormEntry cls_batch = {
    .name = "batch",
    .formula = "(h-μ)/√(σ²+ε)⊙γ+β",
    .paper = "[IsoBN eq.2]",
    .over = "each dimension, over the batch",
    .couples_batch = true,
    .statistics = "running mean, variance",
    .parameters = "2H",
    .place = "pooled",
    .options = {{"eps", "1e-5"}, {"momentum", "0.1", 0, 1}},
    .make = new_cls_norm<ClsBatchNorm>,
};

}  // namespace minbert
