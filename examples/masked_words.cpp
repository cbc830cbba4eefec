// The head for masked words of pre-training, on the masks of one text.
#include "masked_words.h"

#include <algorithm>
#include <numeric>

#include "minbert/ops.h"

namespace minbert {
namespace {

BertConfig pretrained_config(const std::string& folder) {
  BertConfig config = BertConfig::load(folder + "/config.json");
  MB_CHECK(config.tasks.empty(),
           "{}: this model was fine-tuned, which leaves no head for masked words; give the folder "
           "that it started from",
           folder);
  return config;
}

}  // namespace

MaskedWords::MaskedWords(const std::string& source)
    : MaskedWords(model_folder(source), pretrained_config(model_folder(source))) {}

MaskedWords::MaskedWords(const std::string& folder, const BertConfig& config)
    : tokenizer_(tokenizer_of(folder, config)), model_(config, 0, false) {
  const WeightsReport report = load_weights(folder, model_.parameters, &config);
  for (const std::string& name : report.initialised)
    MB_CHECK(!name.starts_with("cls.predictions."),
             "{}: its weights have no {}, so it predicts no masked words; a folder of `pretrain` "
             "does, and a BertForPreTraining or BertForMaskedLM of Hugging Face",
             folder, name);
  model_.network.train(false);
}

std::vector<MaskedWords::Choices> MaskedWords::fill(const std::string& text, size_t most) const {
  const int most_tokens = model_.network.bert().config().max_tokens();
  bool cut = false;
  const Sequence sequence = build_sequence(tokenizer_, text, most_tokens, &cut);
  std::vector<int32_t> places;
  for (size_t i = 0; i < sequence.ids.size(); ++i)
    if (sequence.ids[i] == tokenizer_.mask()) places.push_back(int32_t(i));
  const std::string& mask = tokenizer_.token(tokenizer_.mask());
  MB_CHECK(!places.empty(), "\"{}\" has no {}{}; write {} in place of a word", text, mask,
           cut ? formatted(" among its first {} tokens", most_tokens) : "", mask);
  const NoGrad no_tape;
  const Tensor p = softmax(model_.network.word_logits(pack(std::span(&sequence, 1)), places));
  const std::vector<real> values = p.values();
  std::vector<Choices> all;
  for (size_t row = 0; row < places.size(); ++row) {
    const real* of_row = values.data() + int64_t(row) * p.cols();
    std::vector<int32_t> ids(size_t(p.cols()));
    std::iota(ids.begin(), ids.end(), 0);
    const auto last = ids.begin() + int64_t(std::min(most, size_t(tokenizer_.size())));
    std::partial_sort(ids.begin(), last, ids.begin() + tokenizer_.size(),
                      [&](int32_t a, int32_t b) { return of_row[a] > of_row[b]; });
    Choices& choices = all.emplace_back();
    for (auto id = ids.begin(); id != last; ++id)
      choices.emplace_back(tokenizer_.decode(std::span(&*id, 1)), double(of_row[*id]));
  }
  return all;
}

}  // namespace minbert
