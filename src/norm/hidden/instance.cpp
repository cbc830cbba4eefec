// Instance normalization: every channel by its mean and variance over the tokens of a sentence.
//
//   Paper       Ulyanov, Vedaldi & Lempitsky, Instance Normalization, 2016, eq. 2; The Benefits of Normalization Layers
//               in Transformers [NT norm.instance]
//   Equation    y = (x - μ_b) / √(σ_b² + ε) ⊙ γ + β
//   Shapes      x, y [T,H]   γ, β [H]   μ_b, σ_b² over the L_b tokens of sentence b, for each channel, σ_b² biased
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for other statistics)
//   Deviations  affine (the paper has no γ, β) and without running statistics, so that training and evaluation agree.
//               A sentence of one token is its own mean: y = β (PyTorch refuses it).
#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

class InstanceNorm : public Norm {
 public:
  InstanceNorm(int64_t hidden, double eps)
      : eps_(eps), weight_(&parameter("weight", {hidden}, Init::ones, Decay::no)),
        bias_(&parameter("bias", {hidden}, Init::zeros, Decay::no)) {}

  Tensor forward(const ResidualSum& sum, const Batch& batch) const override {
    const Scope scope(path());
    const Tensor x = sum;
    return sentence_norm(x, batch, *weight_, *bias_, x.cols(), eps_);
  }

  Tensor composed(const Tensor& x, const Batch& batch) const override {
    const auto mean = [&](const Tensor& v) { return gather_rows(mean_sentences(v, batch), batch.sentence); };
    const Tensor centered = sub(x, mean(x));
    const Tensor xhat = mul(centered, inverse_root_composed(mean(square(centered)), eps_));
    return add(mul(xhat, *weight_), *bias_);
  }

 private:
  double eps_;
  Tensor *weight_, *bias_;
};

}  // namespace

std::unique_ptr<Norm> make_instance(const NormOptions& o) {
  return std::make_unique<InstanceNorm>(o.hidden, own_eps(o));
}

}  // namespace minbert
