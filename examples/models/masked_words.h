// What a pre-trained BERT or RoBERTa would put in the place of each [MASK] of a text; of a fine-tuned one, what its
// states say to the head that it was pre-trained with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "minbert/trainer.h"

namespace minbert {

class MaskedWords {
 public:
  // Error where the model's folder has no head for masked words. The model must outlive it.
  explicit MaskedWords(const TrainedModel& trained);
  // Of each mask of the text, in its order: the `most` likeliest tokens with their probabilities.
  // Error for a text without a mask.
  using Choices = std::vector<std::pair<std::string, double>>;
  std::vector<Choices> fill(const std::string& text, size_t most = 10) const;
  // The same of each row of hidden states x [M,H], of any layer
  std::vector<Choices> of_states(const Tensor& x, size_t most = 10) const;
  const Parameters& parameters() const { return head_.parameters; }

 private:
  const TrainedModel& trained_;
  WithParameters<MaskedWordHead> head_;
};

}  // namespace minbert
