// Group normalization over the sentence: each group of channels by its statistics over all tokens.
//
//   Paper       Wu & He, Group Normalization, 2018, eq. 1-3, 7, with the sentence in the place of
//               the image
//   Equation    y = (x - μ_bg) / √(σ_bg² + ε) ⊙ γ + β
//   Shapes      x, y [T,H]   γ, β [H]
//               μ_bg, σ_bg² (biased) over the tokens of sentence b and the H/G channels of group g
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for other statistics)
//   Deviations  none: it is PyTorch's GroupNorm on [1,H,L_b] for each sentence. If each channel is
//               a group it is instance normalization.
#include "norm/hidden/groups.h"
#include "minbert/norm.h"

namespace minbert {
namespace {

class GroupNormOfSentence : public AffineNorm {
 public:
  explicit GroupNormOfSentence(const NormOptions& o)
      : AffineNorm(o.hidden, o.number("eps")), groups_(groups_of(o)) {}

  Tensor composed(const Tensor& x, const Batch& batch) const override {
    const Tensor mu = mean(x, batch);                                               // [T,H]
    const Tensor sigma2 = mean(square(x - mu), batch);                              // [T,H]
    return (x - mu) / sqrt(sigma2 + eps_) * weight_ + bias_;                        // [T,H]
  }

 protected:
  Tensor forward(const Tensor& x, const Batch& batch) const override {
    return sentence_norm(x, batch, weight_, bias_, groups_, eps_);
  }

 private:
  // [T,H] -> [T,H]: the mean over the sentence and group of each element
  Tensor mean(const Tensor& x, const Batch& batch) const {
    const Tensor channels = mean_sentences(x, batch);                               // [B,H]
    const Tensor cells =
        channels.reshape({channels.size() * groups_ / x.cols(), x.cols() / groups_});
    const Tensor broadcast = Tensor::zeros(cells.shape(), x.device()) + mean_rows(cells);
    return gather_rows(broadcast.reshape(channels.shape()), batch.sentence);
  }

  int64_t groups_;
};

}  // namespace

NormEntry norm_group_sentence = {
    .name = "group-sentence",
    .formula = "(x-μ)/√(σ²+ε)⊙γ+β",
    .paper = "Wu & He 2018",
    .over = "a sentence's group of channels",
    .couples = Couples::sentence,
    .parameters = "2H",
    .options = {{"eps", "1e-5"}, groups_option},
    .make = new_norm<GroupNormOfSentence>,
};

}  // namespace minbert
