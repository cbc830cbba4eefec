// How the time and the memory of a training step grow: with the tokens of its batch (sentences of 128), and with the
// layers of the network. Every point has a process of its own, since a process's peak of memory never sinks again.
//
//   Slope   of log y against log x by least squares, over the upper half of the points: 1 where y grows as x does
//   Figure  build/scaling.svg, its numbers build/scaling.csv
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "bench/child.h"
#include "bench/common.h"
#include "engine/text.h"
#include "report/figure.h"
#include "train/cli/train_mode.h"

namespace minbert::bench {
namespace {

constexpr int sentence = 128;

struct Series {
  std::string program, unit;                        // unit: s, MB
  Numbers x = {}, y = {};

  double slope() const {
    const size_t first = x.size() / 2, n = x.size() - first;
    double mx = 0, my = 0, xy = 0, xx = 0;
    for (size_t i = first; i < x.size(); ++i) mx += std::log(x[i]) / double(n), my += std::log(y[i]) / double(n);
    for (size_t i = first; i < x.size(); ++i) {
      const double dx = std::log(x[i]) - mx;
      xy += dx * (std::log(y[i]) - my), xx += dx * dx;
    }
    return xy / xx;
  }
};

// The network of "mini" with so many layers, as a file.
std::string config_of(int layers) {
  BertConfig config = BertConfig::named("mini");
  config.num_hidden_layers = layers;
  const std::string folder = formatted("build/scaling/{}-layers", layers);
  std::filesystem::create_directories(folder);
  config.save(folder + "/config.json");
  return folder + "/config.json";
}

// One point of one program: the median of some steps, and the peak.
void measure(const Options& options, Program& program, const std::string& batch, double x, Series& seconds,
             Series& memory) {
  std::vector<double> steps;
  for (int i = 0; i < warm_up + (options.steps ? options.steps : 5); ++i) {
    const std::vector<double> answer = program.ask(batch);
    if (!answer.empty() && i >= warm_up) steps.push_back(answer[0]);
  }
  if (!program.why_not.empty()) {
    std::printf("  %-10s %s\n", program.name.c_str(), program.why_not.c_str());
    return;
  }
  seconds.x.push_back(x), memory.x.push_back(x);
  seconds.y.push_back(median(steps)), memory.y.push_back(program.child->finish() / 1e6);
  std::printf("  %-10s%10.4f s%8.0f MB", program.name.c_str(), seconds.y.back(), memory.y.back());
}

}  // namespace

void run_scaling(const Options& options) {
  const PyTorch pytorch(options);
  Figure figure{.title = "A training step of \"mini\"", .columns = 2, .panels = {}};
  struct Axis {
    std::string label;
    std::vector<int> values;
  };
  for (const Axis& axis : {Axis{"tokens of a step, 4 layers", {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}},
                           Axis{"layers, 2,048 tokens", {1, 2, 4, 8, 16, 32}}}) {
    const bool tokens_grow = axis.values[0] == sentence;
    std::printf("\n%s\n", axis.label.c_str());
    std::vector<Series> list = {{"minbert", "s"}, {"minbert", "MB"}, {"PyTorch", "s"}, {"PyTorch", "MB"}};
    for (const int x : axis.values) {
      const int tokens = tokens_grow ? x : 2048;
      const Case c{"scaling", tokens_grow ? "mini" : config_of(x), "train", tokens / sentence, sentence, 0, 0, 0, 0};
      std::string batch;
      for (int b = 0; b < c.sentences; ++b) batch += formatted("{} ", sentence);
      std::printf("%8d", x);
      Program ours{"minbert"}, theirs{"PyTorch"};
      ours.start(bert_command(options, "fp32", c.config, c.mode, "layer", "none", trained::full_model),
                 environment_of(options.threads));
      measure(options, ours, batch, x, list[0], list[1]);
      if (pytorch.why_not.empty()) {
        theirs.start(pytorch.command(c, "fp32", "eager"), pytorch.environment());
        measure(options, theirs, batch, x, list[2], list[3]);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
    for (const std::string unit : {"s", "MB"}) {
      Panel panel{.title = unit == "s" ? "Time" : "Memory", .x_label = axis.label,
                  .y_label = unit == "s" ? "seconds" : "peak, MB", .log_x = true, .log_y = true};
      for (const Series& s : list) {
        if (s.unit != unit || s.x.size() < 4) continue;
        std::printf("%-10s%-3s slope %.2f\n", s.program.c_str(), unit.c_str(), s.slope());
        panel.curves.push_back({.title = formatted("{}, slope {}", s.program, fixed(s.slope(), 2)), .x = s.x, .y = s.y,
                                .style = Curve::Style::line_and_points});
      }
      figure.panels.push_back(panel);
    }
  }
  write_figure("build/scaling", figure);
  std::printf("\nbuild/scaling.svg\n");
}

}  // namespace minbert::bench
