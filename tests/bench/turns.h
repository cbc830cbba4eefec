// Programs that are asked by turns for the same work: the machine's speed swings by a third within minutes, and the
// swings that all see cancel in the ratio of two.
//
//   Rounds  each round asks every program for the same block of steps and begins with another program. A block has as
//           many steps as take half a second, as in training: behind another program's turn the first step finds
//           nothing in the caches. Two rounds of one step are warm-up.
//   Times   seconds of a program over those of the one that it stands beside: the median over the rounds, with its
//           95% interval; memory likewise
//   Trial   a form of PyTorch that is meant to be faster than its plain form is left out where its first step takes
//           three times as long as that form's, or both steps of the warm-up are slower
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/child.h"
#include "bench/common.h"

namespace minbert::bench {

struct Interval {
  double low = 0, median = 0, high = 0;
};
// The median, and an interval that holds the true one with 95% certainty whatever the distribution: the k-th value from
// below and from above; n fair coins show fewer than k heads in at most 2.5% of throws. n < 6: the least and the most.
Interval median_interval(std::vector<double> values);
// The first's over the second's, pair by pair.
std::vector<double> ratios(const std::vector<double>& first, const std::vector<double>& second);

std::string interval_text(const Interval& i, int digits);          // "1.01 [1.00, 1.02]"; of one: "1.01"

constexpr size_t nothing = size_t(-1);

// One program. It may not run at all, or give up: then `why_not` says why, and the others go on.
struct Program {
  std::string name;
  std::vector<std::string> command, environment;
  // The program that it is compared with; where that does not run, the one with which that one would be compared
  size_t beside = nothing;
  double times = 0, memory = 0;                     // to reach there; 0: no goal
  size_t plain = nothing;                           // the same program's plain form: see Trial
  std::string why_not = "";
  std::unique_ptr<Child> child = nullptr;
  std::vector<double> seconds = {};                 // of a step, one for each round
  double bytes = 0, launches = 0;                   // of RAM, or of a GPU; of a step on a GPU

  bool ran() const { return why_not.empty() && !seconds.empty(); }
};

// A product of matrices that is measured again in every round; a share is a step's work over its rate.
struct Yardstick {
  Child* worker = nullptr;
  std::string line = "";
  double flops = 0;
};

// One line of the benchmark's table: a case, and the programs that were asked for it.
struct Measurement {
  Case work;
  std::vector<Program> programs;
  Yardstick yardstick = {};
  bool at_most = false;                             // goals are bounds from above, else from below
  int pause = 0;                                    // microseconds before each turn
  std::string group = group_of(work), label = label_of(work);
  std::vector<double> tokens = {}, flops = {}, rates = {};         // of a step; of the yardstick: one for each round

  std::string unit() const { return work.mode == "sentences" ? "texts" : "tokens"; }
  // Prints what it measures, its progress (on stderr) and a row for each program.
  bool run(const Options& options);                 // did the first program run?
  bool compared(const Program& p) const { return p.ran() && p.beside != nothing && programs[p.beside].ran(); }
  Interval times(const Program& p) const;
  double memory(const Program& p) const { return p.bytes / programs[p.beside].bytes; }
  double rate(const Program& p) const;              // the work of a second, flop/s
  double share(const Program& p) const;             // 0 without a yardstick

 private:
  void start();
  void ask(Program& p, const std::string& block, int steps);
  void leave_out_slow(double slower);
  void print() const;
};

}  // namespace minbert::bench
