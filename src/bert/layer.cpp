// One layer of the encoder: attention, then a feed-forward network, each in a residual sum with a norm behind it
// (post-LN). Every matrix has its bias, not written here.
//
//   a = Norm(x + Dropout(W_o Attention(W_q x, W_k x, W_v x)))        Vaswani et al. 2017, sec. 3.1-3.2
//   y = Norm(a + Dropout(W_2 GELU(W_1 a)))                           sec. 3.3, with BERT's GELU
//   x, a, y [T,H]     W_q, W_k, W_v, W_o [H,H]     W_1 [I,H]     W_2 [H,I], I the intermediate size
#include "minbert/bert.h"

namespace minbert {

BertLayer::BertLayer(const BertConfig& config, const NormOptions& norm)
    : heads_(config.num_attention_heads), query_(config.hidden_size, config.hidden_size),
      key_(config.hidden_size, config.hidden_size), value_(config.hidden_size, config.hidden_size),
      attention_dense_(config.hidden_size, config.hidden_size),
      intermediate_(config.hidden_size, config.intermediate_size),
      output_(config.intermediate_size, config.hidden_size), weights_dropout_(config.attention_probs_dropout_prob),
      attention_dropout_(config.hidden_dropout_prob), output_dropout_(config.hidden_dropout_prob),
      attention_norm_(make_norm(config.norm, norm)), output_norm_(make_norm(config.norm, norm)) {
  child("attention.self.query", query_);
  child("attention.self.key", key_);
  child("attention.self.value", value_);
  child("attention.self.dropout", weights_dropout_);
  child("attention.output.dense", attention_dense_);
  child("attention.output.dropout", attention_dropout_);
  child("attention.output.LayerNorm", *attention_norm_);
  child("intermediate.dense", intermediate_);
  child("output.dense", output_);
  child("output.dropout", output_dropout_);
  child("output.LayerNorm", *output_norm_);
}

Tensor BertLayer::forward(const Tensor& x, const Batch& batch, Tensor* attention_weights) const {
  const Scope scope(path());
  const Tensor context = attention(query_(x), key_(x), value_(x), batch, heads_, weights_dropout_.p(),
                                   weights_dropout_.key(), attention_weights);
  const Tensor a = attention_norm_->forward(attention_dropout_.add(x, attention_dense_(context)), batch);
  const Tensor f = feed_forward(a, intermediate_.weight(), intermediate_.bias(), output_.weight(), output_.bias());
  return output_norm_->forward(output_dropout_.add(a, f), batch);
}

}  // namespace minbert
