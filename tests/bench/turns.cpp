// Rounds, and the rows of the table.
#include "bench/turns.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "engine/clock.h"
#include "engine/text.h"
#include "files/progress.h"
#include "minbert/error.h"

namespace minbert::bench {
namespace {

constexpr double seconds_of_block = 0.5, seconds_of_quick = 6;           // of a case, with --quick
constexpr double tolerance = 0.03;                  // by which an interval may miss a goal

std::string text(const char* format, double v) {
  char room[32] = "";
  if (v > 0) std::snprintf(room, sizeof room, format, v);
  return room;
}

}  // namespace

Interval median_interval(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const size_t n = v.size();
  double coins = 1, fewer = 0;                      // P(k heads of n fair coins), and that of fewer than k
  for (size_t i = 0; i < n; ++i) coins /= 2;
  size_t k = 0;
  for (; k < n / 2 && fewer + coins <= 0.025; ++k) fewer += coins, coins *= double(n - k) / double(k + 1);
  const size_t place = k > 0 ? k - 1 : 0;
  return {v[place], median(v), v[n - 1 - place]};
}

std::string interval_text(const Interval& i, int digits) {
  if (i.low == i.high) return fixed(i.median, digits);
  return formatted("{} [{}, {}]", fixed(i.median, digits), fixed(i.low, digits), fixed(i.high, digits));
}

std::vector<double> ratios(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> list;
  for (size_t i = 0; i < first.size(); ++i) list.push_back(first[i] / second[i]);
  return list;
}

Interval Measurement::times(const Program& p) const {
  return median_interval(ratios(p.seconds, programs[p.beside].seconds));
}
double Measurement::rate(const Program& p) const { return median(ratios(flops, p.seconds)); }
double Measurement::share(const Program& p) const {
  return rates.empty() ? 0 : median(ratios(ratios(flops, p.seconds), rates));
}

// All at once: Python takes seconds to load PyTorch. What one runs on is printed where it is new.
void Measurement::start() {
  for (Program& p : programs)
    if (p.why_not.empty()) p.child = std::make_unique<Child>(p.command, p.environment);
  static std::set<std::string> said;
  for (Program& p : programs) {
    std::string hello = p.why_not;
    if (p.child) try {
        hello = p.child->listen();
        if (hello.starts_with("not run")) p.why_not = hello;
      } catch (const Error& e) {
        p.why_not = hello = e.what();
      }
    if (said.insert(p.name + hello).second) std::printf("  %-22s %s\n", p.name.c_str(), hello.c_str());
    std::fflush(stdout);
  }
}

void Measurement::ask(Program& p, const std::string& block, int steps) try {
  usleep(useconds_t(pause));
  const std::vector<double>& answer = p.child->ask_all(block);
  p.seconds.push_back(answer[0] / steps);
  if (answer.size() > 1) p.bytes = std::max(p.bytes, answer[1]);
  if (answer.size() > 2) p.launches = answer[2] / steps;
} catch (const Error& e) {                          // most likely it found too little memory
  p.why_not = e.what();
}

void Measurement::leave_out_slow(double slower) {
  for (Program& p : programs) {
    if (p.plain == nothing || !p.ran() || !programs[p.plain].ran()) continue;
    const Program& plain = programs[p.plain];
    const std::vector<double> all = ratios(p.seconds, plain.seconds);
    if (*std::min_element(all.begin(), all.end()) > slower)
      p.why_not = formatted("left out: a step takes {} s, {} times as long as {}'s", fixed(p.seconds.back(), 3),
                            fixed(all.back(), 1), plain.name);
  }
}

bool Measurement::run(const Options& options) {
  std::printf("\n%s: %s, %s\n", work.name.c_str(), group.c_str(), label.c_str());
  std::fflush(stdout);
  start();
  const bool on_gpu = options.device == Device::cuda;
  const int rounds = options.steps ? options.steps : work.steps;
  Progress progress(work.name, 0, Progress::Where::log);
  Random random(11711, "lengths");
  int steps = on_gpu ? options.group : 1;
  double began = 0;
  for (int round = -warm_up; round < rounds; ++round) {
    if (round == 0) {
      double slowest = 0;
      for (Program& p : programs) {
        if (p.ran()) slowest = std::max(slowest, p.beside == nothing ? p.seconds.back() : 0);
        p.seconds.clear();
      }
      if (!on_gpu && !options.quick && slowest > 0)
        steps = std::clamp(int(std::ceil(seconds_of_block / slowest)), 1, 50);
      began = now();
    }
    const Block block = draw_block(work, steps, random);
    for (size_t i = 0; i < programs.size(); ++i) {
      Program& p = programs[(i + size_t(round + warm_up)) % programs.size()];
      if (!p.why_not.empty()) continue;
      if (round == -warm_up || progress.due())
        progress.show(0, formatted("{}: {}, {}, {}", work.name,
                                   round < 0 ? "warm-up" : formatted("round {} of {}", round + 1, rounds), p.name,
                                   counted(steps, "step")));
      ask(p, block.line, steps);
    }
    if (round < 0) leave_out_slow(round == -warm_up ? 3 : 1);
    const double seconds = yardstick.worker ? yardstick.worker->ask(yardstick.line) : 0;
    if (round < 0) continue;
    tokens.push_back(block.tokens / steps), flops.push_back(block.flops / steps);
    if (seconds > 0) rates.push_back(yardstick.flops / seconds);
    if (options.quick && now() - began > seconds_of_quick) break;
  }
  progress.finish();
  for (Program& p : programs) {
    const double held = p.child ? p.child->finish() : 0;
    if (p.bytes == 0) p.bytes = held;
    if (p.beside != nothing && !programs[p.beside].ran()) p.beside = programs[p.beside].beside;
  }
  print();
  return programs[0].ran();
}

void Measurement::print() const {
  std::printf("  %-22s%4s%11s%10s%9s%7s  %-20s%16s%9s%8s%7s%10s\n", "program", "n", "seconds",
              (unit() + "/s").c_str(), "GFLOP/s", "share", "times [95%]", "goal", "MB", "memory", "goal", "launches");
  for (const Program& p : programs) {
    std::printf("  %-22s", p.name.c_str());
    if (!p.ran()) {
      std::printf(" %s\n", p.why_not.c_str());
      continue;
    }
    const double seconds = median(p.seconds);
    std::printf("%4zu%11.4f%10.0f%9s%7s", p.seconds.size(), seconds, median(tokens) / seconds,
                text("%.1f", rate(p) * 1e-9).c_str(), text("%.2f", share(p)).c_str());
    const Interval i = compared(p) ? times(p) : Interval{};
    const bool within = at_most ? i.high < p.times + tolerance : i.low > p.times - tolerance;
    const bool holds = within && p.seconds.size() >= 6;            // of fewer rounds it is no 95% interval
    const std::string of_share = &p == &programs[0] ? text("share %.2f", work.share) : "";
    const std::string judged = p.times > 0 ? text("%.3g", p.times) + (holds ? " holds" : " not shown") : of_share;
    std::printf("  %-20s%16s%9.0f%8s%7s%10s\n", compared(p) ? interval_text(i, 2).c_str() : "", judged.c_str(),
                p.bytes * 1e-6, compared(p) ? text("%.2f", memory(p)).c_str() : "", text("%.3g", p.memory).c_str(),
                text("%.0f", p.launches).c_str());
  }
  std::fflush(stdout);
}

}  // namespace minbert::bench
