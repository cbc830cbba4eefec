// Batch normalization: every channel by its mean and variance over all tokens of the batch.
//
//   Paper       Ioffe & Szegedy, Batch Normalization, 2015, alg. 1-2; The Benefits of Normalization Layers in
//               Transformers [NT norm.batch]; [LN-PEFT app.A]
//   Equation    training     y = (x - μ_B) / √(σ²_B + ε) ⊙ γ + β       μ_B, σ²_B over the T rows, σ²_B biased
//                            μ ← (1-m) μ + m μ_B        σ² ← (1-m) σ² + m T/(T-1) σ²_B        m = 0.1
//               evaluation   y = (x - μ) / √(σ² + ε) ⊙ γ + β
//   Shapes      x, y [T,H]   γ, β [H]   μ, σ² [H]: the buffers running_mean, running_var
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for other statistics); μ = 0, σ² = 1
//   Deviations  the rows are all real tokens of all sentences: there is no padding to keep out. One row has no unbiased
//               variance: then σ² takes its biased one, 0 (PyTorch refuses such a batch).
#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

class BatchNorm : public Norm {
 public:
  BatchNorm(int64_t hidden, double momentum, double eps)
      : momentum_(momentum), eps_(eps), weight_(&parameter("weight", {hidden}, Init::ones, Decay::no)),
        bias_(&parameter("bias", {hidden}, Init::zeros, Decay::no)),
        mean_(&buffer("running_mean", Tensor::zeros({hidden}))),
        variance_(&buffer("running_var", Tensor::full({hidden}, 1))) {}

  Tensor forward(const ResidualSum& sum, const Batch&) const override {
    const Scope scope(path());
    const Tensor x = sum;
    if (training()) return batch_norm(x, *weight_, *bias_, *mean_, *variance_, momentum_, eps_);
    return channel_norm(x, *weight_, *bias_, *mean_, *variance_, eps_);
  }

  Tensor composed(const Tensor& x, const Batch&) const override {
    const Tensor centered = sub(x, training() ? mean_columns(x) : *mean_);
    const Tensor variance = training() ? mean_columns(square(centered)) : *variance_;             // [H]
    return add(mul(mul(centered, inverse_root_composed(variance, eps_)), *weight_), *bias_);
  }

 private:
  double momentum_, eps_;
  Tensor *weight_, *bias_, *mean_, *variance_;
};

}  // namespace

std::unique_ptr<Norm> make_batch(const NormOptions& o) {
  return std::make_unique<BatchNorm>(o.hidden, o.momentum, own_eps(o));
}

}  // namespace minbert
