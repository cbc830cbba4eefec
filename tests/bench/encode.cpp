// Small batches, a forward alone: the rows of the last layer for one sentence or eight, as a reader of texts asks for
// them. Ours computes the pooler, too, which is 0.7% of the weights.
//
//   Weights   those of the layers' dense matrices, 340 MB, which every forward reads once: GB/s is that over its time
//   Sum       a plain sum over as many numbers on as many threads: the least that reading them takes
//   ONNX      ONNX Runtime with the network that torch_bench.py writes (onnx_bench.py)
//   Rounds    each round asks every program in turn for a block of the same batches, a quarter of a second long, and
//             begins with another one. Before each block there is a pause, until the threads of the program before have
//             stopped waiting for more work. Times: the median over the rounds of ours over theirs, with its 95%
//             interval (paired.h).
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "bench/child.h"
#include "bench/common.h"
#include "bench/paired.h"
#include "minbert/error.h"
#include "train/cli/train_mode.h"

namespace minbert::bench {
namespace {

constexpr int pause_microseconds = 20'000;

struct Timed {
  Program program;
  bool sums = false;                                // it sums up the weights, and reads another line
  std::vector<double> seconds = {};                 // of a step, one for each round

  bool runs() const { return program.why_not.empty(); }
  void start(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
    std::printf("%-13s %s\n", program.name.c_str(), program.start(command, environment).c_str());
  }
  void leave_out(const std::string& why) {
    program.why_not = why;
    std::printf("%-13s %s\n", program.name.c_str(), why.c_str());
  }
};

double dense_weights(const BertConfig& config) {
  const double H = double(config.hidden_size), I = double(config.intermediate_size);
  return double(config.num_hidden_layers) * (4 * H * H + 2 * H * I);
}

class SmallBatches {
 public:
  explicit SmallBatches(const Options& options)
      : options_(options), weights_(dense_weights(BertConfig::named("base"))) {
    std::printf("\nsmall batches, BERT-base: the last layer's rows of every token\n");
    const PyTorch pytorch(options);
    const OnnxRuntime runtime(options, pytorch, encode_cases()[0]);
    const std::vector<std::string> environment = environment_of(options.threads);
    ours_.start(bert_command(options, "fp32", "base", "encode", "layer", "none", trained::full_model), environment);
    sum_.start(worker_command(Device::cpu, "fp32", {"sum"}), environment);
    if (runtime.why_not.empty()) onnx_.start(runtime.command(), {});
    else onnx_.leave_out(runtime.why_not);
    if (pytorch.why_not.empty())
      torch_.start(pytorch.command(encode_cases()[0], "fp32", "eager"), pytorch.environment());
    else torch_.leave_out(pytorch.why_not);
    std::printf("\n%-13s%7s%4s%6s%9s%7s%9s%7s  %-18s%5s%11s%9s  %-18s%5s%11s%9s  %s\n", "milliseconds", "tokens", "n",
                "steps", "minbert", "GB/s", "sum", "GB/s", "times [95%]", "goal", "", "ONNX", "times [95%]", "goal", "",
                "PyTorch", "times [95%]");
  }

  void run(const Case& c) {
    std::string batch;
    for (int b = 0; b < c.sentences; ++b) batch += std::to_string(c.length) + " ";
    int steps = 1;
    for (Timed* p : programs()) p->seconds.clear();
    const int rounds = options_.steps ? options_.steps : c.steps;
    for (int round = -warm_up; round < rounds; ++round) {
      for (size_t i = 0; i < programs().size(); ++i)
        ask(*programs()[(i + size_t(round + warm_up)) % programs().size()], batch, steps);
      if (round >= 0) continue;
      double slowest = 0;
      for (Timed* p : programs()) {
        if (!p->sums) slowest = std::max(slowest, p->seconds.back());
        p->seconds.clear();
      }
      if (round == -1) steps = std::clamp(int(std::ceil(0.25 / slowest)), 1, 50);
    }
    const double bytes = weights_ * sizeof(float), ms = median(ours_.seconds) * 1e3;
    std::printf("%-13s%7d%4d%6d%9.2f%7.1f%9.2f%7.1f", c.name.c_str(), c.sentences * c.length, rounds, steps, ms,
                bytes / ms * 1e-6, median(sum_.seconds) * 1e3, bytes / median(sum_.seconds) * 1e-9);
    print_times(sum_, c.share);
    print_seconds(onnx_);
    print_times(onnx_, c.ratio);
    print_seconds(torch_);
    print_times(torch_, 0);
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  std::vector<Timed*> programs() {                // those that run
    std::vector<Timed*> list;
    for (Timed* p : {&ours_, &sum_, &onnx_, &torch_})
      if (p->runs()) list.push_back(p);
    return list;
  }

  void ask(Timed& p, const std::string& batch, int steps) {
    usleep(pause_microseconds);
    std::string block = formatted("{} {}", int64_t(weights_), steps);
    if (!p.sums) {
      block = batch;
      for (int i = 1; i < steps; ++i) block += ";" + batch;
    }
    const std::vector<double> answer = p.program.ask(block);
    MB_CHECK(!answer.empty(), "{}: {}", p.program.name, p.program.why_not);
    p.seconds.push_back(answer[0] / steps);
  }

  // Ours over theirs, and the goal for it; 0: none
  void print_times(const Timed& p, double goal) {
    const Interval times = p.runs() ? median_interval(ratios(ours_.seconds, p.seconds)) : Interval{};
    std::printf("  %-18s%5s%11s", p.runs() ? interval_text(times, 2).c_str() : "", goal_text(goal).c_str(),
                p.runs() && goal > 0 ? verdict(times, goal).c_str() : "");
  }
  static void print_seconds(const Timed& p) {
    if (p.runs()) std::printf("%9.2f", median(p.seconds) * 1e3);
    else std::printf("%9s", "not run");
  }

  const Options& options_;
  const double weights_;
  Timed ours_{{"minbert"}}, sum_{{"sum"}, true}, onnx_{{"ONNX Runtime"}}, torch_{{"PyTorch"}};
};

}  // namespace

// share: times a plain sum; ratio: times ONNX Runtime's
std::vector<Case> encode_cases() {
  std::vector<Case> list;
  for (const int sentences : {1, 8})
    for (const int length : {8, 16, 32, 128, 512}) {
      const bool smallest = sentences * length == 8, long_one = sentences == 1 && length == 512;
      list.push_back({.name = formatted("encode-{}x{}", sentences, length), .config = "base", .mode = "encode",
                      .sentences = sentences, .length = length, .steps = sentences * length < 4096 ? 15 : 7,
                      .share = smallest ? 1.6 : 0, .ratio = long_one ? 0.0 : 1.0, .memory = 0});
    }
  return list;
}

void run_encode(const Options& options) {
  SmallBatches bench(options);
  for (const Case& c : encode_cases())
    if (is_chosen(options, c)) bench.run(c);
}

}  // namespace minbert::bench
