// The options of a training run: one table serves every training program.
#pragma once

#include <cstdint>
#include <string>

#include "minbert/options.h"

namespace minbert {

struct TrainOptions {
  std::string model, config = "tiny", vocab, data = "data", tasks = "sst,quora,sts";
  bool cased = false;
  int limit = 0;

  std::string norm = "layer", pairs = "cross", sampling = "sequential", fine_tune_mode = "full-model";
  int epochs = 10, batch = 8, max_length = 512, accumulate = 1;
  bool no_shuffle = false;
  double dropout = 0.3, encoder_dropout = -1;       // -1: as config.json has it

  std::string optimizer = "adamw", schedule = "constant";
  double lr = 0, momentum = 0, weight_decay = 0, clip = 0, warmup = 0;        // lr 0: by fine_tune_mode

  int seed = 11711, seeds = 1, patience = 0;
  bool compare = false;

  std::string out = "runs/multitask";
  bool resume = false, evaluate = false;
  int threads = 0;                                  // 0: all
  bool check_nan = false, profile = false, trace = false;

  double learning_rate() const { return lr > 0 ? lr : fine_tune_mode == "full-model" ? 1e-5 : 1e-3; }
};

// Binds every option above to the command line.
void add_train_options(CommandLine& line, TrainOptions& options);

// Those that do not change what is learnt: a resumed run may be given others.
bool may_differ_on_resume(const std::string& option);

void use_threads(int threads);                      // 0: leave as it is

}  // namespace minbert
