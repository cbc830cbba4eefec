// The options of training runs, with their defaults; src/train/train_options.cpp has their help.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "minbert/config.h"
#include "minbert/options.h"
#include "minbert/train_mode.h"

namespace minbert {

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
  std::string initialisation = "config";            // as config.json has it
  double initializer_range = 0;                     // 0: config.json's
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
  bool from_scratch = false;
  int limit = 0;

  std::string cls_norm = "none", cls_norm_at = cls_place::per_method;
  double grad_norm = 0;                             // 0: no gradient normalization
  std::string pairs = "cross", sampling = "sequential";
  std::string train_mode = trained::full_model;     // what is trained: see train_mode.h
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

// Bind the options above to the command line, with their help and the range of their values.
// default_lr: the rate for which --lr 0 stands.
void add_train_options(CommandLine& line, TrainOptions& options);
void add_pretrain_options(CommandLine& line, PretrainOptions& options);
void add_learn_options(CommandLine& line, RunOptions& options, const std::string& default_lr);
void add_run_options(CommandLine& line, RunOptions& options);
void add_machine_options(CommandLine& line, MachineOptions& options);

// Every option on which the result of a run depends, as text by its name.
std::map<std::string, std::string> settings_of(TrainOptions options);
std::map<std::string, std::string> settings_of(PretrainOptions options);
// Sets norm, placement and how new weights are drawn.
void configure(BertConfig& config, const RunOptions& options);

// ---- A run folder remembers how it was started (options.json in --out). Resuming takes those
// options.

// The beginning of every training program. again: the options of the run in --out are taken, but
// for those of `others` that are given; else --out is made, Error where it is in use. And
// use_machine.
void begin_run(CommandLine& line, const RunOptions& options, bool again,
               const std::set<std::string>& others = {});
void remember_options(const CommandLine& line, const std::string& folder);
// Sets what is remembered. Error where there is no run, or an option not of `others` was given
// otherwise: names each.
void recall_options(CommandLine& line, const std::string& folder,
                    const std::set<std::string>& others = {});

// Threads and default device; says on stderr what GPU it is, and that threads are more than cores.
// Error where there is no GPU that can be used.
void use_machine(const MachineOptions& options);
int64_t peak_memory();                              // the most bytes this process has held in RAM

}  // namespace minbert
