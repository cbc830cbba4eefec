// What the two tables share, the CPU's (bench.cpp) and the GPU's (gpu.cpp).
#pragma once

#include <string>
#include <vector>

#include "minbert/config.h"
#include "minbert/device.h"
#include "minbert/random.h"
#include "train/cli/train_mode.h"

namespace minbert::bench {

struct Case {
  std::string name, config, mode;                   // mode: train, encoder, pretrain, forward, encode, sentences
  int sentences, length;                            // length 0: drawn as SST's are, or (encoder) PhraseBank's
  int steps;                                        // rounds that count
  double share = 0, times = 0, memory = 0;          // to reach: of the yardstick's rate, PyTorch's over ours; or 0
  bool quick = false;                               // measured with --quick, too
};
constexpr int warm_up = 2;                          // rounds of each case that do not count

struct Options {
  std::string only = "all";                         // or the name of a case, norms, modes, tokenizer, ...
  std::string out = "build/bench";
  int steps = 0, threads = 0;
  bool quick = false, no_torch = false, profile = false;
  Device device = Device::cpu;
  std::vector<std::string> matmul = choices<Precision>();            // these two: on a GPU alone
  std::string against;                              // on the CPU: another build's bench, and the bound on the ratio
  double bound = 1.02;
  int group = 10;                                   // steps that are timed together
};

double median(std::vector<double> v);
// The cases that stand together on the page, and the name of a case among them: "16 x 128", "16 x SST"
std::string group_of(const Case& c);
std::string label_of(const Case& c);
// Batches with ; between them; the tokens of all, and the floating-point operations that count as work.
struct Block {
  std::string line;
  double tokens = 0, flops = 0;
};
Block draw_block(const Case& c, int steps, Random& random);

// Is it the case that --case names, or one of those? Of all with --quick those that are quick.
bool is_chosen(const Options& options, const Case& c);

std::vector<std::string> environment_of(int threads);
// This program as a worker (main in bench.cpp), and as the one that runs BERT.
std::vector<std::string> worker_command(Device device, const std::string& precision,
                                        const std::vector<std::string>& what);
struct Variant {
  std::string norm = "layer", cls_norm = "none", trained = trained::full_model;
};
std::vector<std::string> bert_command(const Options& options, const std::string& precision, const Case& c,
                                      const Variant& variant = {});

struct Program;                                     // turns.h

// The Python that can import torch: $PEERS_PYTHON, as of a virtual environment, or else the system's python3.
struct PyTorch {
  explicit PyTorch(const Options& options);
  std::vector<std::string> command(const Case& c, const std::string& precision, const std::string& form) const;
  // Its BLAS is the one that the loader finds first: the folder of ours goes before the system's.
  std::vector<std::string> environment() const;
  // "" where it has the package, else why a program that needs it is not run
  std::string lacks(const std::string& package) const;
  Program program(const Case& c, const std::string& name, const std::string& precision, const std::string& form,
                  size_t beside = 0) const;
  const Options& options;
  std::string python, why_not;                      // one of the two is empty
};

class Record;                                       // page.h
// All say whether minbert ran.
bool run_modes(const Options& options, Record& record);      // modes.cpp: --train beside full fine-tuning
bool run_scaling(const Options& options, const PyTorch& pytorch);      // scaling.cpp: against tokens and layers
std::vector<Case> encode_cases();                   // encode.cpp
bool run_encode(const Options& options, const PyTorch& pytorch, Record& record);
bool run_sentences(const Options& options, const PyTorch& pytorch, Record& record);
std::vector<Case> gpu_cases();                      // gpu.cpp
bool run_on_gpu(const Options& options, Record& record);

}  // namespace minbert::bench
