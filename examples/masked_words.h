// What a pre-trained BERT or RoBERTa would put in the place of each [MASK] of a text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "minbert/checkpoint.h"

namespace minbert {

class MaskedWords {
 public:
  // Error where the folder's weights lack the head for masked words, as after fine-tuning.
  explicit MaskedWords(const std::string& source);
  // Of each mask of the text, in its order: the `most` likeliest tokens with their probabilities.
  // Error for a text without a mask.
  using Choices = std::vector<std::pair<std::string, double>>;
  std::vector<Choices> fill(const std::string& text, size_t most = 10) const;
  const Tokenizer& tokenizer() const { return tokenizer_; }
  const Parameters& parameters() const { return model_.parameters; }

 private:
  MaskedWords(const std::string& folder, const BertConfig& config);
  Tokenizer tokenizer_;
  WithParameters<BertForPreTraining> model_;
};

}  // namespace minbert
