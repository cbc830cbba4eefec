// The options of pre-training, and what they say of vocabulary and network.
#pragma once

#include <string>
#include <vector>

#include "minbert/bert.h"
#include "minbert/tokenizer.h"
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

// --init brings a vocabulary; else --vocab names one, or --vocab-size has one made from the corpus,
// in OUT/vocab.txt.
Tokenizer tokenizer_of(const PretrainOptions& options);
BertConfig config_of(const PretrainOptions& options, const Tokenizer& tokenizer);

}  // namespace minbert
