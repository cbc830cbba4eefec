// The two heads of pre-training                                        Devlin et al. 2019, sec. 3.1
//
//   masked words    h = Norm(GELU(x W^T + b))    logits = h E^T + c
//                   x [M,H]: masked rows of the last layer; E [V,H]: the word embeddings (tied);
//                   c [V]; GELU: or hidden_act of config.json
//   next sentence   logits = pooled W^T + b      pooled [B,H]                            [TA sec.2]
#include "minbert/bert.h"

namespace minbert {

BertForPreTraining::BertForPreTraining(const BertConfig& config)
    : bert_(config), transform_(config.hidden_size, config.hidden_size),
      norm_(norms().make("layer", {config.hidden_size, 0, config.layer_norm_eps})),
      decoder_bias_(parameter("cls.predictions.bias", {config.vocab_size}, Init::zeros, Decay::no)),
      seq_relationship_(config.hidden_size, 2) {
  child("bert", bert_);
  child("cls.predictions.transform.dense", transform_);
  child("cls.predictions.transform.LayerNorm", *norm_);
  child("cls.seq_relationship", seq_relationship_);
}

PretrainingOutput BertForPreTraining::forward(const Batch& batch, const Indices& masked,
                                              const Indices& originals) const {
  const BertOutput out = bert_.forward(batch, masked);
  const Tensor h = transform(out.last_hidden_state, batch);
  const Tensor loss =
      linear_cross_entropy(h, bert_.embeddings().word_weight(), decoder_bias_, originals);
  return {loss, seq_relationship_(out.pooler_output)};
}

Tensor BertForPreTraining::word_logits(const Batch& batch, const Indices& masked) const {
  const Tensor h = transform(bert_.forward(batch, masked).last_hidden_state, batch);
  return linear(h, bert_.embeddings().word_weight(), decoder_bias_);
}

Tensor BertForPreTraining::transform(const Tensor& x, const Batch& batch) const {
  const auto g = activation(bert_.config().hidden_act);
  return (*norm_)(g(transform_(x)), batch);
}

}  // namespace minbert
