// What each mode of training costs beside full fine-tuning.
//
//   Modes   --train: a step of BERT-base (as in bench.cpp) in each mode, every mode a process of its own. A round asks
//           all of them for the same batch, each round beginning with another one; a ratio is the median over the
//           rounds, with its 95% interval. Memory: the most that the process held in RAM.
//   --recompute  full fine-tuning whose layers keep their input alone
#include <cstdio>
#include <memory>

#include "bench/child.h"
#include "bench/common.h"
#include "bench/paired.h"
#include "train/cli/train_mode.h"

namespace minbert::bench {
namespace {

struct Mode {
  std::string name, trained;
  double time, memory;                              // to reach, times those of full fine-tuning; 0: no goal
  std::string step = "train";                       // bert_worker's mode
  std::unique_ptr<Child> child = nullptr;
  std::vector<double> seconds = {};
};

}  // namespace

void run_modes(const Options& options) {
  std::vector<Mode> modes;
  modes.push_back({trained::full_model, trained::full_model, 0, 0});
  modes.push_back({trained::layer_norm, trained::layer_norm, 0.7, 0.45});
  modes.push_back({trained::bitfit, trained::bitfit, 0.735, 0.4725});      // LayerNorm's, and 5%
  modes.push_back({trained::random, trained::random, 0, 0});
  modes.push_back({"--recompute", trained::full_model, 1.35, 0.75, "recompute"});      // .45 of PyTorch's memory
  for (Mode& m : modes) {
    m.child = std::make_unique<Child>(bert_command(options, "fp32", "base", m.step, "layer", "none", m.trained),
                                      environment_of(options.threads));
    m.child->listen();
  }

  std::string line;
  for (int b = 0; b < 16; ++b) line += "128 ";
  const int rounds = options.steps ? options.steps : 9;
  for (int round = -warm_up; round < rounds; ++round)
    for (size_t i = 0; i < modes.size(); ++i) {
      Mode& m = modes[(i + size_t(round + warm_up)) % modes.size()];
      const double seconds = m.child->ask(line);
      if (round >= 0) m.seconds.push_back(seconds);
    }

  std::printf("\n%-15s%5s%9s  %-21s%6s%11s%9s%9s%6s        BERT-base, 16 x 128 tokens\n", "mode", "n", "seconds",
              "times full's [95%]", "goal", "", "peak MB", "of full", "goal");
  double full_memory = 0;
  for (Mode& m : modes) {
    const double held = m.child->finish() / 1e6;
    if (full_memory == 0) full_memory = held;
    const Interval times = median_interval(ratios(m.seconds, modes[0].seconds));
    std::printf("%-15s%5zu%9.3f  %-21s%6s%11s%9.0f%9.3f%6s\n", m.name.c_str(), m.seconds.size(), median(m.seconds),
                interval_text(times, 3).c_str(), goal_text(m.time).c_str(),
                m.time > 0 ? verdict(times, m.time).c_str() : "", held, held / full_memory,
                goal_text(m.memory).c_str());
  }
  std::printf("bitfit / layer-norm          %s\n",
              interval_text(median_interval(ratios(modes[2].seconds, modes[1].seconds)), 3).c_str());
  std::fflush(stdout);
}

}  // namespace minbert::bench
