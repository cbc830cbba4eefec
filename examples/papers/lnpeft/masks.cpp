// LN-PEFT's curves: dev scores where only a share of LayerNorm is trained.
#include <algorithm>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

// What must be done before the masks are known: the Fisher information, and the rates of layer-norm.
std::vector<Run> needed(const LnPeftRuns& runs) {
  std::vector<Run> all = runs.fishers();
  for (Run& run : runs.tunings({trained::layer_norm})) all.push_back(std::move(run));
  return all;
}

std::vector<Run> masked_runs(const LnPeftRuns& runs, const std::vector<std::string>& kinds) {
  std::vector<Run> all;
  for (const int seed : runs.seeds())
    for (const Task& task : runs.document().tasks())
      for (const std::string& kind : kinds)
        for (const double f : runs.options().fraction)
          if (f < 1) all.push_back(runs.masked(task, kind, f, seed));
  return all;
}

// f = 1 is layer-norm itself, whatever the mask.
double score_at(const LnPeftRuns& runs, const Task& task, const std::string& kind, double f, int seed, size_t set) {
  if (f < 1) return runs.score(task, runs.masked(task, kind, f, seed), set);
  const double lr = runs.best_rate(task, trained::layer_norm);
  return runs.score(task, runs.tuning(task, trained::layer_norm, lr, seed), set);
}

// [LN-PEFT fig.2] [LN-PEFT fig.5] [LN-PEFT sec.3.2] [LN-PEFT sec.3.5]
void show_curves(const LnPeftRuns& runs, ItemReport& report, const std::vector<std::string>& kinds,
                 const std::string& text) {
  LongTable table({"task", "mask", "f", "seed", "score"});
  Figure figure{.title = "", .columns = 2};
  for (const Task& task : runs.document().tasks())
    for (size_t set = 0; set < task.sets.size(); ++set) {
      figure.panels.push_back({.title = title_of(task, task.sets[set]), .x_label = "f",
                               .y_label = metric_name(task.metrics[0])});
      const std::string name = set_name(task, task.sets[set]);
      for (const std::string& kind : kinds) {
        Curve curve{.title = kind, .style = Curve::Style::line_and_points};
        for (const double f : runs.options().fraction) {
          std::vector<double> scores;
          for (const int seed : runs.seeds()) {
            scores.push_back(score_at(runs, task, kind, f, seed, set));
            table.add({name, kind, formatted("{}", f), std::to_string(seed)}, scores.back());
          }
          const Summary summary = summarize(scores);
          curve.x.push_back(f);
          curve.y.push_back(summary.mean);
          curve.deviation.push_back(summary.deviation);
        }
        figure.panels.back().curves.push_back(curve);
      }
    }
  report.csv(std::move(table));
  report.figure(figure, text);
  std::string rates;
  for (const Task& task : runs.document().tasks())
    rates += formatted("{}{} {}", rates.empty() ? "" : ", ", task.title, runs.best_rate(task, trained::layer_norm));
  report.caption(formatted("mean and standard deviation of {}; tab.2's best rate of layer-norm: {}",
                           counted(runs.options().seeds, "seed"), rates));
  report.differs("the head is always trained; f counts the weights and the biases of LayerNorm together");
}

void fig5(const LnPeftRuns& runs, ItemReport& report) {
  show_curves(runs, report, runs.mask_kinds(),
              "For each task, the dev score where a share f of LayerNorm is trained: by the task's own Fisher "
              "information, by that of all tasks, by that of all other tasks, and at random");
  report.differs("random masks are ours: the document compares its masks with each other alone");
  if (runs.document().tasks().size() < 2)
    report.differs("one task has no other tasks: there is no cross-validated mask");
}

}  // namespace

std::vector<Item> lnpeft_mask_items(const SharedRuns& runs) {
  const auto before = [runs] { return needed(*runs); };
  const auto individual = [runs] { return masked_runs(*runs, {"individual"}); };
  const auto all = [runs] { return masked_runs(*runs, runs->mask_kinds()); };
  const auto fig2 = [runs](ItemReport& report) {
    show_curves(*runs, report, {"individual"},
                "For each task, the dev score where the share f of LayerNorm with the largest Fisher information is "
                "trained");
  };
  const auto show_fig5 = [runs](ItemReport& report) { fig5(*runs, report); };
  return {{"fig2", "Dev scores with a share of LayerNorm", individual, fig2, before},
          {"fig5", "Individual, global and cross-validated masks", all, show_fig5, before}};
}

}  // namespace minbert
