// Pre-training: masked words and next sentences from plain text, until the network knows the
// language.
#pragma once

#include <functional>

#include "minbert/json.h"
#include "minbert/observer.h"
#include "minbert/options.h"

namespace minbert {

struct PretrainScores {                             // on the held-out text
  // Nats per masked word
  double mlm_loss = 0;
  // The share of pairs judged right
  double nsp_accuracy = 0;
};
struct PretrainResult {
  // The scores of the network as it is now
  PretrainScores held_out;
  // The scores of one with new weights
  PretrainScores untrained;
  // The loss of the words' frequencies alone, in nats per masked word
  double unigram_entropy = 0;
  // Optimizer steps
  int64_t steps = 0;
  // Seconds of training
  double seconds = 0;
  // Stopped before its end, with its state saved
  bool interrupted = false;
  // Was next-sentence prediction a task of this run?
  bool next_sentence = true;
};

// One pre-training run in options.out, new or resumed. Writes steps.csv, evaluations.csv,
// state.safetensors and model/, a Hugging Face folder that BertForPreTraining loads. started:
// called once everything is read and fits, with the files that it read (src/train/sources.h).
// stop_after: stop (and save) after so many steps; 0: never. A corpus that changes meanwhile: it
// saves, and throws FileChanged.
PretrainResult pretrain(const PretrainOptions& options,
                        const std::function<void(const Json& sources)>& started = {},
                        int64_t stop_after = 0, Observer* observer = nullptr);

}  // namespace minbert
