// Pre-training: masked words and next sentences from plain text, until the network knows the language.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "minbert/train_options.h"

namespace minbert {

struct PretrainOptions : LearnOptions, RunOptions {
  std::vector<std::string> corpus;
  std::string init, config = "tiny", vocab, norm = "layer", placement = "post";
  int vocab_size = 0, max_length = 128, page = 1, steps = 10000, evaluate_every = 500;
  bool cased = false, whole_words = false, no_nsp = false, f16 = false;
  double held_out = 0.01, dropout = 0.1;

  PretrainOptions() {
    batch = 64, lr = 5e-4, warmup = 0.1, schedule = "linear", weight_decay = 0.01, clip = 1;
    out = "runs/pretrain";
  }
};
void add_pretrain_options(CommandLine& line, PretrainOptions& options);

struct PretrainScores {                             // on the held-out text
  double mlm_loss = 0, nsp_accuracy = 0;            // nats a masked word; share of pairs judged right
};
struct PretrainResult {
  PretrainScores held_out, untrained;               // of the network now, and of one with new weights
  double unigram_entropy = 0;                       // MLM loss of the word frequencies alone
  int64_t steps = 0;
  bool interrupted = false;
};

// One pre-training run in options.out, new or resumed. Writes steps.csv, evaluations.csv, state.safetensors and model/,
// a Hugging Face folder that BertForPreTraining loads. started: called once everything is read and fits.
// stop_after: stop (and save) after so many steps; 0: never.
PretrainResult pretrain(const PretrainOptions& options, const std::function<void()>& started = {},
                        int64_t stop_after = 0);

}  // namespace minbert
