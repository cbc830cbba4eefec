// The options of training runs with their defaults, and main() of a program.
// (src/train/cli/options.cpp has the options' help.)
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "minbert/config.h"
#include "minbert/norm.h"

namespace minbert {

namespace trained {                                 // what is trained: src/train/cli/train_mode.h
inline const std::string full_model = "full-model", heads = "last-linear-layer", bitfit = "bitfit",
                         layer_norm = "layer-norm", every_layer_norm = "layer-norm:all",
                         random = "random";
}  // namespace trained

// What a program runs on.
struct MachineOptions {
  int threads = 0;                                  // 0: all cores; several ranks share them
  std::string device = "cpu", matmul = "tf32";
};

// What every training run has: its network, how that is learnt, how and where the run goes.
struct RunOptions : MachineOptions {
  std::string config = "tiny", vocab;               // of a new network
  bool cased = false;
  std::string norm = "layer", placement = "post";
  int batch = 8, accumulate = 1, max_length = 512;
  int shards = 0;                                   // parts of a batch; 0: one for each rank
  std::string optimizer = "adamw", schedule = "constant";
  double lr = 0, momentum = 0, weight_decay = 0, clip = 0, warmup = 0;

  int seed = 11711;
  std::string out;
  double save_every = 10;                           // minutes; 0: only after an epoch or evaluation
  bool resume = false;
  bool recompute = false;                           // layers keep their inputs alone
  bool check_nan = false, profile = false, trace = false;
};

// Fine-tuning on tasks.
struct TrainOptions : RunOptions {
  std::string model, data = "data", tasks = "sst,quora,sts", metric, task_weights;
  bool from_scratch = false, skip_bad_rows = false;
  int limit = 0;

  std::string cls_norm = "none", cls_norm_at = cls_place::per_method;
  double grad_norm = 0;                             // 0: no gradient normalization
  std::string pairs = "cross", pool = "pooler", sampling = "sequential";
  std::string train_mode = trained::full_model;     // see src/train/cli/train_mode.h
  int epochs = 10;
  bool no_shuffle = false;
  double dropout = 0.3, encoder_dropout = -1;       // -1: as config.json has it
  int seeds = 1, patience = 0;
  bool compare = false, evaluate = false;

  TrainOptions() { out = "runs/multitask"; }
  double learning_rate() const {
    return lr > 0 ? lr : train_mode == trained::full_model ? 1e-5 : 1e-3;
  }
};

// Pre-training on plain text.
struct PretrainOptions : RunOptions {
  std::vector<std::string> corpus;
  std::string init, tokenizer = "wordpiece";        // or bpe: for a new RoBERTa
  int vocab_size = 0, page = 1, steps = 10000, evaluate_every = 500;
  bool whole_words = false, no_nsp = false, f16 = false;
  double held_out = 0.01, dropout = 0.1;

  PretrainOptions() {
    batch = 64;
    max_length = 128;
    lr = 5e-4;
    warmup = 0.1;
    schedule = "linear";
    weight_decay = 0.01;
    clip = 1;
    out = "runs/pretrain";
  }
};

// Threads and default device; says on stderr what GPU it is. Error where there is none that can be
// used.
void use_machine(const MachineOptions& options);

// main() for a program: prints an exception as "program: message" on stderr and returns 1, or
// 130 if it was interrupted; also where stdout could not be written. Where
// there are several ranks, the message names the rank, and all of them end.
int run_program(const std::string& program, const std::function<int()>& body);

}  // namespace minbert
