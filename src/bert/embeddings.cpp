// The embeddings: the normalized sum of word, position and segment embeddings [CLN replaces].
//
//   x_i = Dropout(Norm(word[id_i] + position[f+i] + segment[s_i]))   x [T,H]
//
//   Source      Devlin et al., fig. 2. f is 0. In RoBERTa it is 2: row 1 of the positions is that
//               of the token <pad>, also of one inside a text, which is not counted
//   Positions   learned, or sinusoidal, as in the original Transformer (Vaswani et al. 2017,
//               sec. 3.4 and 3.5), where words are scaled up beside them:
//                 √H word[id_i] + P_i    P_i,2k = sin(i / 10000^(2k/H))    P_i,2k+1 = cos(the same)
//   Segments    none with type_vocab_size 0
//   Norm        none with embeddings_norm "none", as in the original Transformer
//   Names       P is saved as position_embeddings.weight, like learned positions
//   Plain       embeddings in examples/plain_bert.cpp
#include <cmath>

#include "engine/names.h"
#include "minbert/bert.h"

namespace minbert {
namespace {

// A RoBERTa's tokens have the positions pad + 1, pad + 2, ..., but <pad>, whose id is pad, has pad.
Indices after_padding(const Batch& batch, int32_t pad) {
  std::vector<int32_t> positions(batch.ids.begin(), batch.ids.end());
  int32_t last = pad;
  for (size_t row = 0; row < positions.size(); ++row) {
    if (batch.positions[int64_t(row)] == 0) last = pad;
    if (positions[row] != pad) positions[row] = ++last;
  }
  return positions;
}

Tensor sinusoids(int64_t positions, int64_t H) {    // [positions,H]
  std::vector<real> P(size_t(positions * H));
  for (int64_t i = 0; i < positions; ++i)
    for (int64_t j = 0; j < H; ++j) {
      const double angle = double(i) / std::pow(10000, double(j - j % 2) / double(H));
      P[size_t(i * H + j)] = real(j % 2 ? std::cos(angle) : std::sin(angle));
    }
  return Tensor::from({positions, H}, P);
}

}  // namespace

BertEmbeddings::BertEmbeddings(const BertConfig& config, const NormOptions& norm)
    : word_(config.vocab_size, config.hidden_size),
      first_position_(config.first_position()),
      norm_(norms().make(config.embeddings_norm == EmbeddingsNorm::none ? "none" : config.norm,
                         norm)),
      dropout_(config.hidden_dropout_prob) {
  const int64_t positions = config.max_position_embeddings, H = config.hidden_size;
  child("word_embeddings", word_);
  if (config.positions == Positions::sinusoidal) {
    sinusoids_ = buffer("position_embeddings.weight", sinusoids(positions, H));
  } else {
    position_ = std::make_unique<Embedding>(positions, H);
    child("position_embeddings", *position_);
  }
  if (config.type_vocab_size > 0) {
    segment_ = std::make_unique<Embedding>(config.type_vocab_size, H);
    child("token_type_embeddings", *segment_);
  }
  child("LayerNorm", *norm_);
  child("dropout", dropout_);
}

Tensor BertEmbeddings::forward(const Batch& batch) const {
  const Scope scope(path());
  const Indices positions =
      first_position_ > 0 ? after_padding(batch, first_position_ - 1) : batch.positions;
  Tensor x = word_(batch.ids);
  if (position_) x = x + (*position_)(positions);
  else x = x * std::sqrt(double(x.cols())) + embedding(sinusoids_, positions);
  if (segment_) x = x + (*segment_)(batch.segments);
  return dropout_((*norm_)(x, batch));
}

}  // namespace minbert
