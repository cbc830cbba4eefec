// The embeddings: the normalized sum of word, position and segment embeddings [CLN replaces].
//
//   x_i = Dropout(Norm(word[id_i] + position[f+i] + segment[s_i]))   x [T,H]
//
//   Source   Devlin et al., fig. 2. f is 0; in RoBERTa 2, since its rows 0 and 1 belong to padding
#include "minbert/bert.h"

namespace minbert {
namespace {

Indices shifted(const Indices& positions, int32_t f) {
  if (f == 0) return positions;
  std::vector<int32_t> list(positions.begin(), positions.end());
  for (int32_t& position : list) position += f;
  return list;
}

}  // namespace

BertEmbeddings::BertEmbeddings(const BertConfig& config, const NormOptions& norm)
    : word_(config.vocab_size, config.hidden_size),
      position_(config.max_position_embeddings, config.hidden_size),
      segment_(config.type_vocab_size, config.hidden_size),
      first_position_(config.first_position()), norm_(norms().make(config.norm, norm)),
      dropout_(config.hidden_dropout_prob) {
  child("word_embeddings", word_);
  child("position_embeddings", position_);
  child("token_type_embeddings", segment_);
  child("LayerNorm", *norm_);
  child("dropout", dropout_);
}

Tensor BertEmbeddings::forward(const Batch& batch) const {
  const Scope scope(path());
  const Tensor position = position_(shifted(batch.positions, first_position_));
  return dropout_((*norm_)(word_(batch.ids) + position + segment_(batch.segments), batch));
}

}  // namespace minbert
