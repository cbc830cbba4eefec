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
#include <cstdio>

#include "bench/page.h"
#include "bench/turns.h"
#include "engine/cuda.h"
#include "engine/text.h"

namespace minbert::bench {
namespace {

// The fastest of some squares; the next is tried as long as one takes less than 20 ms.
Yardstick best_product(Child& worker, const std::string& precision, const Options& options, std::string& text) {
  Yardstick best{.worker = &worker};
  double best_rate = 0, seconds = 0;
  std::printf("product   %s", precision.c_str());
  for (int n = 1024; n <= 8192 && seconds < 0.02; n *= 2) {
    const double flops = 2.0 * n * n * n;
    worker.ask(formatted("{} {} 1", precision, n));              // the first of its size is slower
    const std::string line = formatted("{} {} {}", precision, n, options.group);
    seconds = worker.ask(line);
    std::printf("   %d^3: %.2f TFLOP/s", n, flops / seconds * 1e-12);
    if (flops / seconds > best_rate) best_rate = flops / seconds, best.line = line, best.flops = flops;
  }
  std::printf("\n");
  text += formatted("{}{} {} TFLOP/s", text.empty() ? "" : ", ", precision, fixed(best_rate * 1e-12, 2));
  return best;
}

}  // namespace

// To reach: 1.5 times the speed of eager PyTorch, 2 times where sentences differ in length; where they do not differ,
// the speed of torch.compile. PyTorch's memory: 1.67 times ours.
std::vector<Case> gpu_cases() {
  constexpr int shapes[][2] = {{16, 128}, {32, 128}, {8, 512}, {64, 0}};
  std::vector<Case> cases;
  for (const std::string mode : {"train", "forward"})
    for (const std::string config : {"base", "large"})
      for (const auto& [sentences, length] : shapes) {
        const std::string shape = length ? formatted("{}x{}", sentences, length) : "real";
        const std::string name = (mode == "forward" ? "forward-" : "") + config + "-" + shape;
        cases.push_back({name, config, mode, sentences, length, 7, 0, length ? 1.5 : 2, 1.67});
      }
  cases.push_back({"tiny-real", "tiny", "train", 64, 0, 7, 0, 0, 0});      // the work is small: what launches cost
  return cases;
}

bool run_on_gpu(const Options& options, Record& record) {
  const std::vector<std::string> environment = environment_of(options.threads);
  const PyTorch pytorch(options);
  Child product(worker_command(Device::cuda, "fp32", {"product"}), environment);
  product.listen();
  std::printf("GPU       %s\n", cuda::describe().c_str());
  std::vector<Yardstick> yardsticks;
  std::string products;
  for (const std::string& precision : options.matmul)
    yardsticks.push_back(best_product(product, precision, options, products));
  record.fact("best product", products);
  bool ran = true;
  for (const Case& c : gpu_cases())
    for (size_t i = 0; i < yardsticks.size() && is_chosen(options, c); ++i) {
      const std::string& precision = options.matmul[i];
      Measurement m{.work = c, .programs = {}, .yardstick = yardsticks[i]};
      m.work.name += " " + precision, m.label += " " + precision;
      m.programs.push_back({"minbert", bert_command(options, precision, c), environment});
      m.programs.push_back(pytorch.program(c, "PyTorch", precision, "eager"));
      m.programs.back().times = c.times, m.programs.back().memory = c.memory;
      m.programs.push_back(pytorch.program(c, "torch.compile", precision, "compile"));
      m.programs.back().times = c.times > 0 && c.length ? 1 : 0;
      ran = record.run(std::move(m)) && ran;
    }
  return ran;
}

}  // namespace minbert::bench
