// The benchmark on a GPU: minbert beside PyTorch, eager and compiled, with the same precision of products.
//
//   Step, work  as on the CPU (bench.cpp). The losses stay on the GPU.
//   Rounds      a round asks each program in turn for the same group of batches. The program draws them, then takes the
//               time from a GPU at rest until it is at rest again behind the last step; copying the batches to the GPU
//               is part of it.
//   Precision   minbert: --matmul. PyTorch: bf16 by autocast; attention is its scaled_dot_product_attention; each eager
//               and under torch.compile.
//   Product     the rate of minbert's own product of two large squares at that precision, measured again in every round
//   Memory      of the GPU; minbert: all that its pool holds, in use or free, the parameters with what the optimizer
//               keeps, cuBLAS's workspace; PyTorch: the most allocated at a time (max_memory_allocated). Neither counts
//               the CUDA context.
//   Launches    kernels, products and copies, of a step
#include <algorithm>
#include <cstdio>
#include <memory>

#include "bench/child.h"
#include "bench/common.h"
#include "engine/cuda.h"
#include "minbert/error.h"
#include "train/cli/train_mode.h"

namespace minbert::bench {
namespace {

// One program of a row, and what it has shown.
struct Measured {
  Program program;
  double faster = 0, memory = 0;                    // minbert's to reach against it; 0: no goal
  std::vector<double> speed = {}, flops = {}, share = {}, times = {};      // tokens/s, flop/s, of the product's rate,
                                                                           // of minbert's seconds
  double bytes = 0, launches = 0;                   // the most; of the last group

  // The seconds of a group; 0 where it does not run. counts: so do bytes and launches.
  double ask(const std::string& group, bool counts) {
    const std::vector<double> answer = program.ask(group);
    if (answer.empty()) return 0;
    MB_CHECK(answer.size() >= 2, "{}: {} numbers in place of seconds and bytes", program.name, answer.size());
    if (counts) bytes = std::max(bytes, answer[1]), launches = answer.size() > 2 ? answer[2] : 0;
    return answer[0];
  }
};

class GpuBench {
 public:
  explicit GpuBench(const Options& options)
      : options_(options), pytorch_(options), environment_(environment_of(options.threads)),
        product_(worker_command(Device::cuda, "fp32", {"product"}), environment_) {
    product_.listen();
    std::printf("GPU       %s\n", cuda::describe().c_str());
    for (const std::string& precision : options.matmul) products_.push_back(best_product(precision));
    std::printf("PyTorch   %s\n\n", pytorch_hello().c_str());
    std::printf("%-21s%7s%4s  %-15s%10s%9s%7s%9s%9s%8s%6s%8s%6s\n", "case", "tokens", "n", "program", "tokens/s",
                "TFLOP/s", "share", "MB", "launches", "times", "goal", "memory", "goal");
  }

  bool run(const Case& c) {
    bool ours_ran = true;
    for (const SquareProduct& product : products_) ours_ran = run(c, product) && ours_ran;
    return ours_ran;
  }

 private:
  struct SquareProduct {
    std::string precision, line;                    // what its worker is asked
    double flops;
  };

  // The fastest of some squares; the next is tried as long as one takes less than 20 ms.
  SquareProduct best_product(const std::string& precision) {
    SquareProduct best{precision, "", 0};
    double best_rate = 0, seconds = 0;
    std::printf("product   %s", precision.c_str());
    for (int n = 1024; n <= 8192 && seconds < 0.02; n *= 2) {
      const double flops = 2.0 * n * n * n;
      product_.ask(formatted("{} {} 1", precision, n));          // the first of its size is slower
      const std::string line = formatted("{} {} {}", precision, n, options_.group);
      seconds = product_.ask(line);
      std::printf("   %d^3: %.2f TFLOP/s", n, flops / seconds * 1e-12);
      if (flops / seconds > best_rate) best_rate = flops / seconds, best.line = line, best.flops = flops;
    }
    std::printf("\n");
    return best;
  }

  // What PyTorch says of itself, asked for the smallest case.
  std::string pytorch_hello() {
    if (pytorch_.python.empty()) return pytorch_.why_not;
    const std::string hello = Child(pytorch_.command(gpu_cases().back(), "fp32", "eager"), environment_).listen();
    if (hello.starts_with("not run")) pytorch_.why_not = hello, pytorch_.python.clear();
    return hello;
  }

  bool run(const Case& c, const SquareProduct& product) {
    std::vector<Measured> programs;
    programs.push_back({{"minbert"}});
    programs[0].program.start(
        bert_command(options_, product.precision, c.config, c.mode, "layer", "none", trained::full_model),
        environment_);
    const auto add = [&](const std::string& name, const std::string& form, double faster, double memory) {
      programs.push_back({{name}, faster, memory});
      programs.back().program.start(pytorch_.command(c, product.precision, form), environment_);
    };
    if (!pytorch_.python.empty()) {
      add("PyTorch", "eager", c.ratio, c.memory);
      add("torch.compile", "compile", c.ratio > 0 && c.length ? 1 : 0, 0);
    }

    const BertConfig config = BertConfig::named(c.config);
    Random random(11711, "lengths");
    std::vector<double> tokens_of_a_step;
    for (int round = 0; round < warm_up + (options_.steps ? options_.steps : c.steps); ++round) {
      double tokens = 0, flops = 0;
      const std::string group = draw_group(c, config, random, &tokens, &flops);
      std::vector<double> seconds;
      for (Measured& p : programs) seconds.push_back(p.ask(group, round >= warm_up));
      const double rate = product.flops / product_.ask(product.line);
      if (round < warm_up) continue;
      tokens_of_a_step.push_back(tokens / options_.group);
      for (size_t i = 0; i < programs.size(); ++i) {
        if (seconds[i] <= 0) continue;
        programs[i].speed.push_back(tokens / seconds[i]);
        programs[i].flops.push_back(flops / seconds[i]);
        programs[i].share.push_back(flops / seconds[i] / rate);
        if (seconds[0] > 0) programs[i].times.push_back(seconds[i] / seconds[0]);
      }
    }
    const std::string what = formatted("{} {}", c.name, product.precision);
    std::printf("%-26s%6.0f%4zu", what.c_str(), median(tokens_of_a_step), tokens_of_a_step.size());
    for (const Measured& p : programs) print(p, programs[0]);
    std::fflush(stdout);
    return programs[0].program.why_not.empty();
  }

  // Batches with ; between them, their tokens and the work in them.
  std::string draw_group(const Case& c, const BertConfig& config, Random& random, double* tokens, double* flops) const {
    std::string group;
    for (int i = 0; i < options_.group; ++i) {
      double of_step = 0;
      for (const int length : draw_lengths(c, random)) group += std::to_string(length) + " ", of_step += length;
      if (i + 1 < options_.group) group += ";";
      *tokens += of_step, *flops += work(c, config, of_step);
    }
    return group;
  }

  // Behind the first of a row stands how much faster and smaller than each other program it is.
  void print(const Measured& p, const Measured& ours) const {
    const bool first = &p == &ours;
    std::printf("%*s  %-15s", first ? 0 : 36, "", p.program.name.c_str());
    if (!p.program.why_not.empty() || p.speed.empty()) {
      std::printf("%s\n", p.program.why_not.c_str());
      return;
    }
    std::printf("%10.0f%9.2f%7.2f%9.0f", median(p.speed), median(p.flops) * 1e-12, median(p.share), p.bytes * 1e-6);
    if (first) std::printf("%9.0f", p.launches / options_.group);
    else if (ours.program.why_not.empty())
      std::printf("%17.2f%6s%8.2f%6s", median(p.times), goal_text(p.faster).c_str(), ours.bytes / p.bytes,
                  goal_text(p.memory).c_str());
    std::printf("\n");
  }

  const Options& options_;
  PyTorch pytorch_;
  const std::vector<std::string> environment_;
  Child product_;
  std::vector<SquareProduct> products_;
};

}  // namespace

// To reach: 1.5 times the speed of eager PyTorch, 2 times where sentences differ in length, at most .6 of its memory;
// where they do not differ, the speed of torch.compile.
std::vector<Case> gpu_cases() {
  constexpr int shapes[][2] = {{16, 128}, {32, 128}, {8, 512}, {64, 0}};
  std::vector<Case> cases;
  for (const std::string mode : {"train", "forward"})
    for (const std::string config : {"base", "large"})
      for (const auto& [sentences, length] : shapes) {
        const std::string shape = length ? formatted("{}x{}", sentences, length) : "real";
        const std::string name = (mode == "forward" ? "forward-" : "") + config + "-" + shape;
        cases.push_back({name, config, mode, sentences, length, 7, 0, length ? 1.5 : 2, 0.6});
      }
  cases.push_back({"tiny-real", "tiny", "train", 64, 0, 7, 0, 0, 0});      // the work is small: what launches cost
  return cases;
}

int run_on_gpu(const Options& options) {
  set_default_device(Device::cuda);                       // or its error, before any worker starts
  GpuBench bench(options);
  bool all_ran = true;
  for (const Case& c : gpu_cases())
    if (options.only == "all" || options.only == c.name) all_ran = bench.run(c) && all_ran;
  return all_ran ? 0 : 1;
}

}  // namespace minbert::bench
