// Norms side by side: every variant under the same seeds, a line of the table each, and the loss curves.
#include <algorithm>
#include <iostream>

#include "curves.h"
#include "engine/text_table.h"
#include "train/shared.h"

namespace minbert {
namespace {

// All that is normalized, but not where: one legend serves the panels of all placements.
std::string norms_of(const Variant& v) {
  return v.norm + (v.cls_norm == "none" ? "" : "-" + v.cls_norm) +
         (v.grad_norm > 0 ? format("-gradient-{}", v.grad_norm) : "");
}

// The first step from which on the mean of the task's last ten losses has been below the level once.
std::optional<double> steps_until(const Series& losses, double level) {
  constexpr size_t window = 10;
  double sum = 0;
  for (size_t i = 0; i < losses.x.size(); ++i) {
    sum += losses.y[i] - (i >= window ? losses.y[i - window] : 0);
    if (i + 1 >= window && sum / double(window) < level) return losses.x[i];
  }
  return std::nullopt;
}

std::string mean_steps(const VariantRuns& runs, const std::string& task, double level) {
  std::vector<double> steps;
  for (const std::string& folder : runs.folders)
    if (const auto at = steps_until(losses_of(folder, task), level)) steps.push_back(*at);
  if (steps.empty()) return "never";
  const size_t missed = runs.folders.size() - steps.size();
  return fixed(summarize(steps).mean, 0) + (missed ? format(" ({} never)", missed) : "");
}

std::vector<std::string> line_of(const VariantRuns& runs, const Experiment& experiment, double to_loss) {
  const Variant& v = runs.variant;
  std::vector<std::string> line = {v.norm, v.placement, v.cls_norm, v.grad_norm > 0 ? format("{}", v.grad_norm) : "-"};
  for (size_t i = 0; i < experiment.data().size(); ++i) {
    const std::vector<Measure> list = measures(experiment.data()[i].task);
    for (size_t j = 0; j < list.size(); ++j)
      line.push_back(score_cell(runs.results, &RunResult::dev, list[j].metric, i, j));
  }
  std::vector<double> gradients, milliseconds;
  for (const RunResult& run : runs.results) {
    gradients.push_back(run.first_gradient);
    milliseconds.push_back(run.seconds * 1000 / double(run.steps));
  }
  line.push_back(mean_steps(runs, experiment.data()[0].task.name, to_loss));
  line.push_back(fixed(summarize(gradients).mean, 2)), line.push_back(fixed(summarize(milliseconds).mean, 1));
  return line;
}

// A row of panels for each placement, a column for each task.
void write_loss_curves(const Experiment& experiment, const std::vector<VariantRuns>& runs) {
  Figure figure{.title = "Training losses", .columns = int(experiment.data().size())};
  std::vector<std::string> placements;
  for (const VariantRuns& of : runs)
    if (std::find(placements.begin(), placements.end(), of.variant.placement) == placements.end())
      placements.push_back(of.variant.placement);
  for (const std::string& placement : placements)
    for (const TaskData& data : experiment.data()) {
      figure.panels.push_back({.title = format("{} ({})", data.task.title, placement), .x_label = "step",
                               .y_label = "training loss"});
      for (const VariantRuns& of : runs)
        if (of.variant.placement == placement)
          figure.panels.back().curves.push_back(loss_curve(norms_of(of.variant), of.folders, data.task.name));
    }
  write_figure(experiment.options().out + "/figures/norms", figure);
}

}  // namespace

std::vector<Variant> norm_variants(const NormLists& lists, bool from_scratch) {
  std::vector<Variant> variants;
  for (const std::string& placement : lists.placements)
    for (const std::string& norm : lists.norms)
      for (const std::string& cls_norm : lists.cls_norms)
        for (const double alpha : lists.grad_norms) {
          variants.push_back({"", norm, placement, cls_norm, alpha, from_scratch});
          variants.back().label = norms_of(variants.back()) + "-" + placement;
        }
  return variants;
}

int compare_norms(const Experiment& experiment, const std::vector<Variant>& variants, double to_loss) {
  const auto runs = run_all(experiment, variants, false);
  if (!runs) return 130;
  std::vector<std::vector<std::string>> lines = {{"norm", "placement", "[CLS] norm", "gradient norm"}};
  for (const TaskData& data : experiment.data())
    for (const Measure& measure : measures(data.task)) lines[0].push_back(score_name(data.task, measure));
  const std::string first = experiment.data()[0].task.title;
  for (const std::string& name : {format("steps to {} loss {}", first, to_loss), std::string("|g| at first"),
                                  std::string("ms a step")})
    lines[0].push_back(name);
  for (const VariantRuns& of : *runs) lines.push_back(line_of(of, experiment, to_loss));
  const int seeds = experiment.options().seeds;
  std::cout << format("\n{} seed{}; dev scores of the best epoch{}\n\n", seeds, seeds > 1 ? "s" : "",
                      seeds > 1 ? ", mean ± standard deviation" : "")
            << text_table(lines);
  write_loss_curves(experiment, *runs);
  return 0;
}

}  // namespace minbert
