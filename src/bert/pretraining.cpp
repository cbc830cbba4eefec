// The two heads of pre-training                                        Devlin et al. 2019, sec. 3.1
//
//   masked words    h = Norm(GELU(x W^T + b))    logits = h E^T + c
//                   x [M,H]: masked rows of the last layer; E [V,H]: the word embeddings (tied);
//                   c [V]; GELU: or hidden_act of config.json
//   next sentence   logits = pooled W^T + b      pooled [B,H]                            [TA sec.2]
#include "minbert/bert.h"

namespace minbert {

MaskedWordHead::MaskedWordHead(const BertConfig& config)
    : activation_(activation(config.hidden_act)),
      transform_(config.hidden_size, config.hidden_size),
      norm_(norms().make("layer", {config.hidden_size, 0, config.layer_norm_eps})),
      bias_(parameter("cls.predictions.bias", {config.vocab_size}, Init::zeros, Decay::no)) {
  child("cls.predictions.transform.dense", transform_);
  child("cls.predictions.transform.LayerNorm", *norm_);
}

Tensor MaskedWordHead::transform(const Tensor& x) const {
  return (*norm_)(activation_(transform_(x)), Batch());
}

Tensor MaskedWordHead::logits(const Tensor& x, const Tensor& E) const {
  return linear(transform(x), E, bias_);
}

Tensor MaskedWordHead::loss(const Tensor& x, const Tensor& E, const Indices& originals) const {
  return linear_cross_entropy(transform(x), E, bias_, originals);
}

BertForPreTraining::BertForPreTraining(const BertConfig& config)
    : bert_(config), masked_words_(config), seq_relationship_(config.hidden_size, 2) {
  child("bert", bert_);
  child("", masked_words_);
  child("cls.seq_relationship", seq_relationship_);
}

PretrainingOutput BertForPreTraining::forward(const Batch& batch, const Indices& masked,
                                              const Indices& originals) const {
  const BertOutput out = bert_.forward(batch, masked);
  const Tensor& E = bert_.embeddings().word_weight();
  return {masked_words_.loss(out.last_hidden_state, E, originals),
          seq_relationship_(out.pooler_output)};
}

}  // namespace minbert
