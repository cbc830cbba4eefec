// Pre-training: masked words and next sentences from plain text, until the network knows the
// language.
#pragma once

#include <functional>

#include "minbert/json.h"
#include "minbert/options.h"

namespace minbert {

struct PretrainScores {                             // on the held-out text
  // mlm_loss: nats per masked word; nsp_accuracy: the share of pairs judged right
  double mlm_loss = 0, nsp_accuracy = 0;
};
struct PretrainResult {
  // held_out: the network's scores now; untrained: those of one with new weights
  PretrainScores held_out, untrained;
  double unigram_entropy = 0;                       // MLM loss of the word frequencies alone
  int64_t steps = 0;
  double seconds = 0;                               // of training
  bool interrupted = false, next_sentence = true;   // next_sentence: was it a task of this run?
};

// One pre-training run in options.out, new or resumed. Writes steps.csv, evaluations.csv,
// state.safetensors and model/, a Hugging Face folder that BertForPreTraining loads. started:
// called once everything is read and fits, with the files that it read (src/train/sources.h).
// stop_after: stop (and save) after so many steps; 0: never. A corpus that changes meanwhile: it
// saves, and throws FileChanged.
PretrainResult pretrain(const PretrainOptions& options,
                        const std::function<void(const Json& sources)>& started = {},
                        int64_t stop_after = 0);

}  // namespace minbert
