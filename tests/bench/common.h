// What the two tables share, the CPU's (bench.cpp) and the GPU's (gpu.cpp).
#pragma once

#include <string>
#include <vector>

#include "minbert/config.h"
#include "minbert/device.h"
#include "minbert/random.h"

namespace minbert::bench {

struct Case {
  std::string name, config, mode;                   // mode: train, encoder, pretrain, forward, encode
  int sentences, length;                            // length 0: drawn as SST's are, or (encoder) PhraseBank's
  int steps;
  double share, ratio, memory;                      // to reach; 0: no goal
};
constexpr int warm_up = 2;                          // steps (on a GPU: groups) of each case that do not count

struct Options {
  std::string only = "all";                         // or the name of a case, norms, modes, tokenizer, ...
  int steps = 0, threads = 0;
  bool no_torch = false, profile = false;
  Device device = Device::cpu;
  std::vector<std::string> matmul = choices<Precision>();            // these two: on a GPU alone
  std::string against;                              // on the CPU: another build's bench, and the bound on the ratio
  double bound = 1.02;
  int group = 10;                                   // steps that are timed together
};

double median(std::vector<double> v);
std::string goal_text(double v);                    // "" for 0
std::vector<int> draw_lengths(const Case& c, Random& random);
// The floating-point operations of a step that count as work.
double work(const Case& c, const BertConfig& config, double tokens);

// Is it the case that --case names, or one of those?
bool is_chosen(const Options& options, const Case& c);

std::vector<std::string> environment_of(int threads);
// This program as a worker (main in bench.cpp), and as the one that runs BERT.
std::vector<std::string> worker_command(Device device, const std::string& precision,
                                        const std::vector<std::string>& what);
std::vector<std::string> bert_command(const Options& options, const std::string& precision, const std::string& config,
                                      const std::string& mode, const std::string& norm, const std::string& cls_norm,
                                      const std::string& trained);

// The Python that can import torch: $BENCH_PYTHON, as of a virtual environment, or else the system's python3.
struct PyTorch {
  explicit PyTorch(const Options& options);
  std::vector<std::string> command(const Case& c, const std::string& precision, const std::string& form) const;
  // Its BLAS is the one that the loader finds first: the folder of ours goes before the system's.
  std::vector<std::string> environment() const;
  const Options& options;
  std::string python, why_not;                      // one of the two is empty
};

// That Python with the package onnxruntime, and the network of a case as a file in build/: PyTorch writes it where
// there is none yet.
struct OnnxRuntime {
  OnnxRuntime(const Options& options, const PyTorch& pytorch, const Case& c);
  std::vector<std::string> command() const;
  const Options& options;
  std::string python, model, why_not;
};

// modes.cpp: the modes of training beside full fine-tuning
void run_modes(const Options& options);             // BERT-base, 16 sentences of 128 tokens

void run_scaling(const Options& options);           // scaling.cpp: time and memory against tokens and layers

std::vector<Case> encode_cases();                   // encode.cpp
void run_encode(const Options& options);

// gpu.cpp
std::vector<Case> gpu_cases();
int run_on_gpu(const Options& options);             // 0, or 1 where minbert could not run one of them

}  // namespace minbert::bench
