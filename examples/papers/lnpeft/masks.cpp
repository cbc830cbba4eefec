// LN-PEFT's curves: dev scores where only a share of LayerNorm is trained.
#include "engine/names.h"
#include "engine/text.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

auto masked_grid(const LnPeftRuns& runs, const Names& kinds) {
  return RunGrid(std::bind_front(&LnPeftRuns::masked, runs), runs.tasks(), kinds, runs.o.fraction,
                 runs.document.seeds());
}

// [LN-PEFT fig.2] [LN-PEFT fig.5] [LN-PEFT sec.3.2] [LN-PEFT sec.3.5]
void show_curves(const LnPeftRuns& runs, ItemReport& report, const Names& kinds,
                 const std::string& text) {
  const Document& document = runs.document;
  LongTable table({"task", "mask", "f", "seed", "score"}), judged = table, evidence = table;
  report.figure(text, dev_sets(runs.tasks(), false), [&](const DevSet& set) {
    Panel panel{.title = set.title, .x_label = "f", .y_label = metric_name(set.measure.metric)};
    for (const std::string& kind : kinds) {
      panel.curves.push_back({.title = kind, .style = Curve::Style::line_and_points});
      for (const double f : runs.o.fraction) {
        std::vector<Run> seeds;
        for (const int seed : document.seeds()) seeds.push_back(runs.masked(set.task, kind, f, seed));
        const ItemReport::Cell cell = document.scores(seeds, set, 1);
        add_points(table, cell, runs.o.seed, set.key(), kind, f);
        add_scores(judged, evidence, document.scores(seeds, set, 1, runs.judging()), runs.o.seed, set.key(), kind, f);
        add_mean(panel.curves.back(), f, cell.points);
      }
    }
    return panel;
  });
  report.csv(table);
  report.csv(judged, "judged");
  report.when("several rates", runs.chooses());
  report.judge_by(evidence, {100, 2, "points"});
  show_yardsticks(runs.document, runs.tasks(), report, {1, 4}, runs.chooses() ? 0.5 : 1);
  Names rates;
  for (const Task& task : runs.tasks())
    rates.push_back(formatted("{} {}", task.title, runs.best(task, trained::layer_norm).lr));
  report.caption(formatted("mean and standard deviation of {}; tab.2's best rate of layer-norm: {}",
                           counted(runs.o.seeds, "seed"), joined(rates)));
}

}  // namespace

std::vector<Item> lnpeft_mask_items(const LnPeftRuns& runs) {
  // What must be done before the masks are known: the Fisher information, and the rates of
  // layer-norm.
  const auto before =
      both(RunGrid(std::bind_front(&LnPeftRuns::fisher, runs), runs.tasks(), runs.document.seeds()),
           runs.tunings({trained::layer_norm}));
  const auto grid = [runs](const Names& kinds) {
    return both(yardstick_runs(runs.document, runs.tasks()), masked_grid(runs, kinds));
  };
  const auto fig2 = [runs](ItemReport& report) {
    show_curves(runs, report, {"individual"},
                "For each task, the dev score where the share f of LayerNorm with the largest "
                "Fisher information is trained");
  };
  const auto fig5 = [runs](ItemReport& report) {
    report.when("one task alone", runs.tasks().size() < 2);
    show_curves(runs, report, runs.mask_kinds(),
                "For each task, the dev score where a share f of LayerNorm is trained: by the "
                "task's own Fisher information, by that of all tasks, by that of all other tasks, "
                "and at random");
  };
  return {{"fig2", grid({"individual"}), fig2, before},
          {"fig5", grid(runs.mask_kinds()), fig5, before}};
}

}  // namespace minbert
