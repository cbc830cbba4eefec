// The figure of pre-training, made from steps.csv and evaluations.csv of the run folder.
#include "curves.h"
#include "train/shared.h"

namespace minbert {
namespace {

std::vector<double> numbers(const std::vector<std::string>& texts) {
  std::vector<double> list;
  for (const std::string& text : texts) list.push_back(std::stod(text));
  return list;
}

}  // namespace

void write_pretraining_figure(const PretrainOptions& o, const PretrainResult& result, bool held_out) {
  const auto steps = read_columns(o.out + "/steps.csv"), evaluations = read_columns(o.out + "/evaluations.csv");
  const Series training = smoothed({numbers(steps.at("step")), numbers(steps.at("mlm_loss"))}, steps.at("step").size());
  Panel loss{.title = "masked words", .x_label = "step", .y_label = "cross-entropy"};
  loss.curves.push_back({.title = "training", .x = training.x, .y = training.y});
  Figure figure{.title = "", .columns = 2, .panels = {loss}};
  if (held_out) {
    const auto level = [&](const char* title, double y) {
      return Curve{.title = title, .x = {0, double(o.steps)}, .y = {y, y}};
    };
    const std::vector<double> x = numbers(evaluations.at("step"));
    using enum Curve::Style;
    std::vector<Curve>& curves = figure.panels[0].curves;
    curves.push_back({.title = "held out", .x = x, .y = numbers(evaluations.at("mlm_loss")), .style = line_and_points});
    curves.push_back(level("words' frequencies", result.unigram_entropy));
    curves.push_back(level("untrained", result.untrained.mlm_loss));
    if (!o.no_nsp) {
      Panel pairs{.title = "next sentence", .x_label = "step", .y_label = "accuracy, held out"};
      const std::vector<double> right = numbers(evaluations.at("nsp_accuracy"));
      pairs.curves.push_back({.title = "", .x = x, .y = right, .style = line_and_points});
      figure.panels.push_back(pairs);
    }
  }
  write_figure(o.out + "/figures/pretraining", figure);
}

}  // namespace minbert
