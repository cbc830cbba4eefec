// The options of training runs: one table serves every training program.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "minbert/options.h"

namespace minbert {

// How weights begin and are learnt.
struct LearnOptions {
  std::string initialisation = "normal";
  double initializer_range = 0;                     // 0: config.json's
  int batch = 8, accumulate = 1;
  std::string optimizer = "adamw", schedule = "constant";
  double lr = 0, momentum = 0, weight_decay = 0, clip = 0, warmup = 0;
};

// What a program runs on.
struct MachineOptions {
  int threads = 0;                                  // 0: all
  std::string device = "cpu", matmul = "tf32";
};

// How and where a training program runs.
struct RunOptions : MachineOptions {
  int seed = 11711;
  std::string out;
  // Minutes; 0: only where an epoch or an evaluation saves
  double save_every = 10;
  bool resume = false;
  bool check_nan = false, profile = false, trace = false;
};

// Fine-tuning on tasks.
struct TrainOptions : LearnOptions, RunOptions {
  std::string model, config = "tiny", vocab, data = "data";
  std::string tasks = "sst,quora,sts", metric, task_weights;
  bool cased = false, from_scratch = false;
  int limit = 0;

  std::string norm = "layer", placement = "post", cls_norm = "none", cls_norm_at = "per-method";
  double grad_norm = 0;                             // 0: no gradient normalization
  std::string pairs = "cross", sampling = "sequential", fine_tune_mode = "full-model";
  int epochs = 10, max_length = 512;
  bool no_shuffle = false;
  double dropout = 0.3, encoder_dropout = -1;       // -1: as config.json has it
  int seeds = 1, patience = 0;
  bool compare = false, evaluate = false;

  TrainOptions() { out = "runs/multitask"; }
  double learning_rate() const {
    return lr > 0 ? lr : fine_tune_mode == "full-model" ? 1e-5 : 1e-3;
  }
};

// Bind every option above to the command line; the lr's help says what 0 stands for.
void add_train_options(CommandLine& line, TrainOptions& options);
void add_learn_options(CommandLine& line, LearnOptions& options, const std::string& default_lr);
void add_run_options(CommandLine& line, RunOptions& options);
void add_machine_options(CommandLine& line, MachineOptions& options);
void add_norm_options(CommandLine& line, std::string& norm, std::string& placement);

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

// Threads and default device; says on stderr what GPU it is. Error where there is none that can be
// used.
void use_machine(const MachineOptions& options);
int64_t peak_memory();                              // the most bytes this process has held in RAM

}  // namespace minbert
