// Group normalization over the sentence: each group of channels by its mean and variance over all tokens of a sentence.
//
//   Paper       Wu & He, Group Normalization, 2018, eq. 1-3, 7, with the sentence in the place of the image
//   Equation    y = (x - μ_bg) / √(σ_bg² + ε) ⊙ γ + β
//   Shapes      x, y [T,H]   γ, β [H]   μ_bg, σ_bg² over the L_b tokens of sentence b and the H/G neighbouring channels
//               of group g, σ_bg² biased
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for other statistics)
//   Deviations  none: it is PyTorch's GroupNorm on [1,H,L_b] for each sentence. Where each channel is a group it is
//               instance normalization.
#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

class GroupNormOfSentence : public Norm {
 public:
  GroupNormOfSentence(int64_t hidden, int64_t groups, double eps)
      : groups_(groups), eps_(eps), weight_(&parameter("weight", {hidden}, Init::ones, Decay::no)),
        bias_(&parameter("bias", {hidden}, Init::zeros, Decay::no)) {}

  Tensor forward(const ResidualSum& sum, const Batch& batch) const override {
    const Scope scope(path());
    const Tensor x = sum;
    return sentence_norm(x, batch, *weight_, *bias_, groups_, eps_);
  }

  Tensor composed(const Tensor& x, const Batch& batch) const override {
    const Tensor centered = sub(x, mean(x, batch));
    const Tensor xhat = mul(centered, inverse_root_composed(mean(square(centered), batch), eps_));
    return add(mul(xhat, *weight_), *bias_);
  }

 private:
  // [T,H] -> [T,H]: each element's mean over its sentence and group
  Tensor mean(const Tensor& x, const Batch& batch) const {
    const Tensor channels = mean_sentences(x, batch);                                // [B,H]
    const Tensor cells = channels.reshape({channels.size() * groups_ / x.cols(), x.cols() / groups_});
    const Tensor spread = add(Tensor::zeros(cells.shape(), x.device()), mean_rows(cells));
    return gather_rows(spread.reshape(channels.shape()), batch.sentence);
  }

  int64_t groups_;
  double eps_;
  Tensor *weight_, *bias_;
};

}  // namespace

std::unique_ptr<Norm> make_group_sentence(const NormOptions& o) {
  return std::make_unique<GroupNormOfSentence>(o.hidden, groups_of(o), own_eps(o));
}

}  // namespace minbert
