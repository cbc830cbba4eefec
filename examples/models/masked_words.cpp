// The head for masked words of pre-training, on the masks of one text.
#include "models/masked_words.h"

#include <algorithm>
#include <iostream>
#include <numeric>

#include "minbert/ops.h"

namespace minbert {

MaskedWords::MaskedWords(const TrainedModel& trained) : trained_(trained), head_(trained.config, 0, false) {
  MB_CHECK(load_masked_word_head(model_folder(trained.folder), trained.config, head_.parameters),
           "{}: it has no cls.predictions.*, or not all of them, so it predicts no masked words; a folder of "
           "`pretrain` has them, a BertForPreTraining or BertForMaskedLM of Hugging Face, and what multitask makes of "
           "one",
           trained.folder);
}

std::vector<MaskedWords::Choices> MaskedWords::fill(const std::string& text, size_t most) const {
  const Tokenizer& tokenizer = trained_.tokenizer;
  const int most_tokens = trained_.config.max_tokens();
  bool cut = false;
  const Sequence sequence = build_sequence(tokenizer, text, most_tokens, &cut);
  std::vector<int32_t> places;
  for (size_t i = 0; i < sequence.ids.size(); ++i)
    if (sequence.ids[i] == tokenizer.mask()) places.push_back(int32_t(i));
  const std::string& mask = tokenizer.token(tokenizer.mask());
  MB_CHECK(!places.empty(), "\"{}\" has no {}{}; write {} in place of a word", text, mask,
           cut ? formatted(" among its first {} tokens", most_tokens) : "", mask);
  if (cut)
    std::cerr << formatted("the text is cut to {} tokens; a {} beyond them is not filled in\n", most_tokens, mask);
  const NoGrad no_tape;
  const BertModel& bert = trained_.model.network.bert();
  return of_states(bert.forward(pack(std::span(&sequence, 1)), Indices(places)).last_hidden_state, most);
}

std::vector<MaskedWords::Choices> MaskedWords::of_states(const Tensor& x, size_t most) const {
  const NoGrad no_tape;
  const Tensor& E = trained_.model.network.bert().embeddings().word_weight();
  const Tensor p = softmax(head_.network.logits(x, E));
  const std::vector<real> values = p.values();
  const auto tokens = size_t(trained_.tokenizer.size());
  std::vector<Choices> all;
  for (int64_t row = 0; row < p.rows(); ++row) {
    const real* of_row = values.data() + row * p.cols();
    std::vector<int32_t> ids(tokens);
    std::iota(ids.begin(), ids.end(), 0);
    const auto last = ids.begin() + int64_t(std::min(most, tokens));
    std::partial_sort(ids.begin(), last, ids.end(), [&](int32_t a, int32_t b) { return of_row[a] > of_row[b]; });
    Choices& choices = all.emplace_back();
    for (auto id = ids.begin(); id != last; ++id)
      choices.emplace_back(trained_.tokenizer.decode(std::span(&*id, 1)), double(of_row[*id]));
  }
  return all;
}

}  // namespace minbert
