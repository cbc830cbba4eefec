// What the two tables share, the CPU's (bench.cpp) and the GPU's (gpu.cpp).
#pragma once

#include <string>
#include <vector>

#include "minbert/config.h"
#include "minbert/device.h"
#include "minbert/random.h"

namespace minbert::bench {

struct Case {
  std::string name, config, mode;                   // mode: train, encoder, pretrain, forward
  int sentences, length;                            // length 0: drawn as SST's are, or (encoder) PhraseBank's
  int steps;
  double share, ratio, memory;                      // to reach; 0: no goal
};
constexpr int warm_up = 2;                          // steps (on a GPU: groups) of each case that do not count

struct Options {
  std::string only = "all";                         // or the name of a case, norms, tokenizer, load
  int steps = 0, threads = 0;
  bool no_torch = false, profile = false;
  std::string device = "cpu";
  std::vector<std::string> matmul = precision_names();            // these two: on a GPU alone
  std::string against;                              // on the CPU: another build's bench, and the bound on the ratio
  double bound = 1.02;
  int group = 10;                                   // steps that are timed together
};

double median(std::vector<double> v);
std::string goal_text(double v);                    // "" for 0
std::vector<int> draw_lengths(const Case& c, Random& random);
// The floating-point operations of a step that count as work.
double work(const Case& c, const BertConfig& config, double tokens);

// This program as a worker (main in bench.cpp), and as the one that runs BERT.
std::vector<std::string> worker_command(const std::string& device, const std::string& precision,
                                        const std::vector<std::string>& what);
std::vector<std::string> bert_command(const Options& options, const std::string& precision, const std::string& config,
                                      const std::string& mode, const std::string& norm, const std::string& cls_norm);

// The python3 that can import torch.
struct PyTorch {
  explicit PyTorch(const Options& options);
  std::vector<std::string> command(const Case& c, const std::string& precision, const std::string& form) const;
  const Options& options;
  std::string python, why_not;                      // one of the two is empty
};

// gpu.cpp
std::vector<Case> gpu_cases();
int run_on_gpu(const Options& options);             // 0, or 1 where minbert could not run one of them

}  // namespace minbert::bench
