// How the time and the memory of a training step grow: with the tokens of its batch (sentences of 128), and with the
// layers of the network. Every point has processes of its own, since a process's peak of memory never sinks again.
//
//   Slope   of log y against log x by least squares, over the upper half of the points: 1 where y grows as x does
//   Figure  build/scaling.svg, its numbers build/scaling.csv
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "bench/turns.h"
#include "engine/text.h"
#include "report/figure.h"

namespace minbert::bench {
namespace {

constexpr int sentence = 128;

// Of log y against log x
double slope(const Numbers& all_x, const Numbers& all_y) {
  const size_t first = all_x.size() / 2, n = all_x.size() - first;
  double mx = 0, my = 0, xy = 0, xx = 0;
  for (size_t i = first; i < all_x.size(); ++i)
    mx += std::log(all_x[i]) / double(n), my += std::log(all_y[i]) / double(n);
  for (size_t i = first; i < all_x.size(); ++i) {
    const double dx = std::log(all_x[i]) - mx;
    xy += dx * (std::log(all_y[i]) - my), xx += dx * dx;
  }
  return xy / xx;
}

// The network of "mini" with so many layers, as a file.
std::string config_of(int layers) {
  BertConfig config = BertConfig::named("mini");
  config.num_hidden_layers = layers;
  const std::string folder = formatted("build/scaling/{}-layers", layers);
  std::filesystem::create_directories(folder);
  config.save(folder + "/config.json");
  return folder + "/config.json";
}

}  // namespace

bool run_scaling(const Options& options, const PyTorch& pytorch) {
  Figure figure{.title = "A training step of \"mini\"", .columns = 2, .panels = {}};
  struct Axis {
    std::string label;
    std::vector<int> values;
  };
  for (const Axis& axis : {Axis{"tokens of a step, 4 layers", {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}},
                           Axis{"layers, 2,048 tokens", {1, 2, 4, 8, 16, 32}}}) {
    const bool tokens_grow = axis.values[0] == sentence;
    Panel time{.title = "Time", .x_label = axis.label, .y_label = "seconds", .log_x = true, .log_y = true};
    Panel memory{.title = "Memory", .x_label = axis.label, .y_label = "peak, MB", .log_x = true, .log_y = true};
    for (const std::string program : {"minbert", "PyTorch"})
      for (Panel* panel : {&time, &memory})
        panel->curves.push_back({.title = program, .style = Curve::Style::line_and_points});
    for (const int x : axis.values) {
      const Case c{.name = "scaling", .config = tokens_grow ? "mini" : config_of(x), .mode = "train",
                   .sentences = (tokens_grow ? x : 2048) / sentence, .length = sentence, .steps = 5};
      Measurement m{.work = c, .programs = {}, .group = axis.label, .label = std::to_string(x)};
      m.programs.push_back({"minbert", bert_command(options, "fp32", c), environment_of(options.threads)});
      m.programs.push_back(pytorch.program(c, "PyTorch", "fp32", "eager"));
      m.run(options);
      for (size_t i = 0; i < m.programs.size(); ++i) {
        const Program& p = m.programs[i];
        if (!p.ran()) continue;
        for (Panel* panel : {&time, &memory}) panel->curves[i].x.push_back(x);
        time.curves[i].y.push_back(median(p.seconds)), memory.curves[i].y.push_back(p.bytes * 1e-6);
      }
    }
    for (Panel* panel : {&time, &memory}) {
      std::erase_if(panel->curves, [](const Curve& c) { return c.x.size() < 4; });
      for (Curve& c : panel->curves) c.title += formatted(", slope {}", fixed(slope(c.x, c.y), 2));
      figure.panels.push_back(*panel);
    }
  }
  write_figure("build/scaling", figure);
  std::printf("\nbuild/scaling.svg\n");
  return !figure.panels[0].curves.empty();
}

}  // namespace minbert::bench
