// The embeddings: the normalized sum of word, position and segment embeddings [CLN replaces].
//
//   x_i = Dropout(Norm(word[id_i] + position[i] + segment[s_i]))   x [T,H]   Devlin et al., fig. 2
#include "minbert/bert.h"

namespace minbert {

BertEmbeddings::BertEmbeddings(const BertConfig& config, const NormOptions& norm)
    : word_(config.vocab_size, config.hidden_size),
      position_(config.max_position_embeddings, config.hidden_size),
      segment_(config.type_vocab_size, config.hidden_size), norm_(norms().make(config.norm, norm)),
      dropout_(config.hidden_dropout_prob) {
  child("word_embeddings", word_);
  child("position_embeddings", position_);
  child("token_type_embeddings", segment_);
  child("LayerNorm", *norm_);
  child("dropout", dropout_);
}

Tensor BertEmbeddings::forward(const Batch& batch) const {
  const Scope scope(path());
  return dropout_(
      (*norm_)(word_(batch.ids) + position_(batch.positions) + segment_(batch.segments), batch));
}

}  // namespace minbert
