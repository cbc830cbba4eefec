// Batch normalization: every channel by its mean and variance over all tokens of the batch.
//
//   Paper       Ioffe & Szegedy, Batch Normalization, 2015, alg. 1-2; The Benefits of Normalization
//               Layers in Transformers [NT norm.batch]; [LN-PEFT app.A]
//   Equation    training     y = (x - μ_B) / √(σ²_B + ε) ⊙ γ + β  μ_B, σ²_B over the T rows, biased
//                            μ ← (1-m) μ + m μ_B     σ² ← (1-m) σ² + m T/(T-1) σ²_B     m = 0.1
//               evaluation   y = (x - μ) / √(σ² + ε) ⊙ γ + β
//   Shapes      x, y [T,H]   γ, β [H]   μ, σ² [H]: the buffers running_mean, running_var
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for other statistics);
//               μ = 0, σ² = 1
//   Deviations  the rows are the tokens of all sentences, without padding. A single row has no
//               unbiased variance: σ² then moves towards its biased one, 0 (PyTorch refuses such a
//               batch).
#include "minbert/norm.h"

namespace minbert {
namespace {

class BatchNorm : public AffineNorm {
 public:
  explicit BatchNorm(const NormOptions& o)
      : AffineNorm(o.hidden, o.number("eps")), momentum_(o.number("momentum")),
        mean_(buffer("running_mean", Tensor::zeros({o.hidden}))),
        variance_(buffer("running_var", Tensor::full({o.hidden}, 1))) {}

  Tensor composed(const Tensor& x, const Batch&) const override {
    const Tensor mu = training() ? mean_columns(x) : mean_;                         // [H]
    const Tensor sigma2 = training() ? mean_columns(square(x - mu)) : variance_;    // [H]
    return (x - mu) / sqrt(sigma2 + eps_) * weight_ + bias_;                        // [T,H]
  }

 protected:
  Tensor forward(const Tensor& x, const Batch&) const override {
    if (training()) return batch_norm(x, weight_, bias_, mean_, variance_, momentum_, eps_);
    return channel_norm(x, weight_, bias_, mean_, variance_, eps_);
  }

 private:
  double momentum_;
  Tensor mean_, variance_;
};

}  // namespace

NormEntry norm_batch = {
    .name = "batch",
    .formula = "(x-μ)/√(σ²+ε)⊙γ+β",
    .paper = "Ioffe & Szegedy 2015",
    .over = "all tokens of the batch",
    .couples = Couples::batch,
    .running_statistics = true,
    .parameters = "2H",
    .options = {{"eps", "1e-5"}, {"momentum", "0.1", 0, 1}},
    .make = new_norm<BatchNorm>,
};

}  // namespace minbert
