// Group normalization: channels in groups, each by its own mean and variance: of every token, or
// (group-sentence) of all tokens of a sentence.
//
//   Paper       Wu & He, Group Normalization, 2018, eq. 1-3, 7; [NT norm.group]
//   Equation    y = (x - μ_g) / √(σ_g² + ε) ⊙ γ + β
//   Shapes      x, y [T,H]   γ, β [H]   μ_g, σ_g² (biased) over the H/G channels of group g, of a
//               token; with group-sentence, of all L_b tokens of sentence b
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for one group of all channels)
//   Deviations  the image of the paper is one token here, and the sentence in group-sentence, which
//               is PyTorch's GroupNorm on [1,H,L_b] for each sentence. With one group, group is
//               LayerNorm. If each channel is a group, group-sentence is instance normalization;
//               in group a channel equals its mean, and y = β whatever x is.
#include "norm/entries.h"

namespace minbert {

struct GroupNorm : AffineNorm {
  explicit GroupNorm(const NormOptions& o) : AffineNorm(o) {
    const double G = o.number("groups", o.hidden < 128 ? 16 : 32);
    groups_ = int64_t(G);
    MB_CHECK(double(groups_) == G, "group normalization: {} is not a whole number of groups", G);
    MB_CHECK(o.hidden % groups_ == 0,
             "group normalization: {} channels do not part into {} groups of equal size", o.hidden,
             groups_);
  }
  // [T,H] -> [T G,H/G]: a row for each group
  Tensor cells_of(const Tensor& x) const {
    return x.reshape({x.rows() * groups_, x.cols() / groups_});
  }

  Tensor forward(const Tensor& x, const Batch&) const override {
    const Tensor cells = cells_of(x);                                               // [T G,H/G]
    const Tensor mu = mean_rows(cells);                                             // [T G,1]
    const Tensor sigma2 = mean_rows(square(cells - mu));                            // [T G,1]
    const Tensor xhat = (cells - mu) / sqrt(sigma2 + eps_);                         // [T G,H/G]
    return xhat.reshape(x.shape()) * weight_ + bias_;                // [T,H]  [NT norm.group]
  }

  int64_t groups_;
};

struct GroupNormOfSentence : GroupNorm {
  using GroupNorm::GroupNorm;

  Tensor forward(const Tensor& x, const Batch& batch) const override {
    const Tensor mu = mean(x, batch);                                               // [T,H]
    const Tensor sigma2 = mean(square(x - mu), batch);                              // [T,H]
    return (x - mu) / sqrt(sigma2 + eps_) * weight_ + bias_;                        // [T,H]
  }

  // [T,H] -> [T,H]: the mean over the sentence and group of each element
  Tensor mean(const Tensor& x, const Batch& batch) const {
    const Tensor channels = mean_sentences(x, batch);                               // [B,H]
    const Tensor cells = cells_of(channels);                                        // [B G,H/G]
    const Tensor broadcast = Tensor::zeros(cells.shape(), x.device()) + mean_rows(cells);
    return index_select(broadcast.reshape(channels.shape()), batch.sentence);
  }
};

namespace {

const NormOption groups = {
    .name = "groups", .min = 1, .max = 1e9, .source = "32 (16 below 128 channels)"};

}  // namespace

const NormEntry norm_group = {
    .name = "group",
    .formula = "(x-μ)/√(σ²+ε)⊙γ+β",
    .paper = "Wu & He 2018",
    .over = "a token's group of channels",
    .parameters = "2H",
    .options = {{"eps", "1e-5"}, groups},
    .make = new_norm<GroupNorm>,
};

const NormEntry norm_group_sentence = {
    .name = "group-sentence",
    .formula = "(x-μ)/√(σ²+ε)⊙γ+β",
    .paper = "Wu & He 2018",
    .over = "a sentence's group of channels",
    .mixes = Mixes::sentence,
    .parameters = "2H",
    .options = {{"eps", "1e-5"}, groups},
    .make = new_norm<GroupNormOfSentence>,
};

}  // namespace minbert
