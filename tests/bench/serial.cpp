// Amdahl's share: the part of a training step that runs on one thread, however many there are.
//
//   Share   s = (seconds of a step outside of parallel regions) / (seconds of the same step on one thread), from the
//           clock around every region (regions.cpp). Two whole times alone, T_1 and T_n, would give
//           s = (n T_n / T_1 - 1) / (n - 1), but there memory that all threads share and waiting for the slower thread
//           count as serial, and 1% of noise in a time is 2% in s: it stands beside the share as an upper bound.
//   At N    T_1 (s + (1 - s) / N): the least that a step can take on N threads
//   Rounds  one process with one thread and one with --threads, by turns, with the same batches
//   Memory  the pages that a third process, without pages of 2 MB, has touched after two steps: weights, gradients,
//           moments, activations, and by which thread first. Faults of 4 KB and of 2 MB would count alike.
#include <unistd.h>

#include <cstdio>

#include "child.h"
#include "common.h"
#include "minbert/error.h"
#include "paired.h"
#include "train/train_mode.h"
#include "workers.h"

namespace minbert::bench {

void run_serial(const Options& options) {
  constexpr int sentences = 16, length = 128;
  constexpr double goal = 0.02;
  std::printf("\nserial    BERT-base, a training step of %d x %d tokens\n", sentences, length);
  if (options.threads < 2) return void(std::printf("          not run (it takes --threads 2 or more)\n"));
  const auto command = bert_command(options, "fp32", "base", "train", "layer", "none", trained::full_model);
  Child one(command, environment_of(1)), several(command, environment_of(options.threads));
  one.listen();
  several.listen();
  std::string line;
  for (int b = 0; b < sentences; ++b) line += std::to_string(length) + " ";

  const double n = options.threads;
  Pairs pairs;
  std::vector<double> share, bound, outside;
  StepOnThreads step;
  for (int round = 0; round < warm_up + (options.steps ? options.steps : 9); ++round) {
    if (round == warm_up) pairs = {};
    pairs.ask(several, one, line);
    step = StepOnThreads::of(several.answer());
    if (round < warm_up) continue;
    outside.push_back(step.outside);
    share.push_back(step.outside / pairs.second.back());
    bound.push_back((n * pairs.ratio.back() - 1) / (n - 1));
  }
  if (step.regions == 0) return void(std::printf("          not run (this OpenMP is not GNU's)\n"));

  const auto percent = [](const std::vector<double>& shares) {
    std::vector<double> list;
    for (const double s : shares) list.push_back(100 * s);
    return interval_text(median_interval(list), 2);
  };
  const Interval s = median_interval(share);
  std::printf("          1 thread %.3f s, %d threads %.3f s, of which outside of parallel regions %.4f s (n = %zu)\n"
              "          serial share %% [95%%]  %s   goal < %.0f: %s\n"
              "          from the two times    %s   an upper bound: waiting and shared memory are in it\n",
              median(pairs.second), options.threads, median(pairs.first), median(outside), share.size(),
              percent(share).c_str(), 100 * goal, s.high < goal ? "holds" : "not shown", percent(bound).c_str());
  for (const int threads : {16, 64}) {
    const double least = s.median + (1 - s.median) / threads;
    std::printf("          %2d threads: %.3f s at the least, %.1f times as fast as one; %.0f%% of it serial\n", threads,
                median(pairs.second) * least, 1 / least, 100 * s.median / least);
  }
  std::printf("          regions a step: %.0f, and %.0f too small to split, %.2f ms in all\n", step.regions,
              step.unsplit_regions, 1e3 * step.unsplit);

  Child touches(worker_command("cpu", "fp32", {"touches", "base"}), environment_of(options.threads));
  touches.listen();
  for (int i = 0; i < 2; ++i) touches.ask(line);
  const StepOnThreads last = StepOnThreads::of(touches.answer());
  std::printf("          memory: %.0f MB touched in two steps, %.0f%% of it first by the first thread\n",
              last.faults * double(sysconf(_SC_PAGESIZE)) * 1e-6, 100 * last.faults_of_first / last.faults);
  std::fflush(stdout);
}

}  // namespace minbert::bench
