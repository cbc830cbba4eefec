// Several runs under the same seeds, and the paper's two tables [CLN tab.train] [CLN tab.test].
#include <algorithm>
#include <cmath>
#include <iostream>

#include "engine/text_table.h"
#include "train/shared.h"

namespace minbert {
namespace {

bool in_percent(Metric metric) { return metric == Metric::accuracy || metric == Metric::f1; }

std::string padded(const std::string& text, size_t to) {
  return text + std::string(to - std::min(to, text_width(text)), ' ');
}

void print_table(const std::string& title, const Experiment& experiment, const std::vector<VariantRuns>& columns,
                 const Scores RunResult::*part) {
  std::cout << '\n' << title << "\n  " << padded("", 24);
  for (const VariantRuns& c : columns) std::cout << padded(c.variant.label, 22);
  std::cout << '\n';
  for (size_t i = 0; i < experiment.data().size(); ++i) {
    Task task = experiment.data()[i].task;
    if (part == &RunResult::train) task.sets = {""};                 // there is one training set
    const std::vector<Measure> list = measures(task);
    for (size_t j = 0; j < list.size(); ++j) {
      std::cout << "  " << padded(score_name(task, list[j]), 24);
      for (const VariantRuns& c : columns) std::cout << padded(score_cell(c.results, part, list[j].metric, i, j), 22);
      std::cout << '\n';
    }
  }
}

// The folder of the run with the best mean dev score.
std::string best_run(const std::vector<VariantRuns>& columns) {
  std::string folder;
  double best = -INFINITY;
  for (const VariantRuns& c : columns)
    for (size_t i = 0; i < c.results.size(); ++i)
      if (const double mean = mean_score(c.results[i].dev); mean > best) best = mean, folder = c.folders[i];
  return folder;
}

}  // namespace

std::string score_name(const Task& task, const Measure& measure) {
  return format("{} ({}{})", title_of(task, measure.set), metric_name(measure.metric),
                in_percent(measure.metric) ? ", %" : "");
}

std::string score_cell(const std::vector<RunResult>& runs, const Scores RunResult::*part, Metric metric, size_t task,
                       size_t measure) {
  const bool percent = in_percent(metric);
  std::vector<double> values;
  for (const RunResult& run : runs)
    if (const auto& score = (run.*part)[task][measure]) values.push_back(*score * (percent ? 100 : 1));
  if (values.empty()) return "undefined";
  const Summary s = summarize(values);
  const int digits = percent ? 2 : 4;
  return fixed(s.mean, digits) + (values.size() > 1 ? " ± " + fixed(s.deviation, digits) : "") +
         (values.size() < runs.size() ? format(" ({} undefined)", runs.size() - values.size()) : "");
}

std::vector<Variant> variants_of(const TrainOptions& o) {
  const auto variant = [&](const std::string& label, const std::string& norm, bool from_scratch) {
    return Variant{label, norm, o.placement, o.cls_norm, o.grad_norm, from_scratch};
  };
  if (!o.compare) return {variant(o.from_scratch ? "from-scratch" : o.norm, o.norm, o.from_scratch)};
  std::vector<Variant> variants = {variant("layer", "layer", false),
                                   variant("conditional-layer", "conditional-layer", false)};
  if (o.from_scratch) variants.push_back(variant("from-scratch", "conditional-layer", true));
  return variants;
}

std::optional<std::vector<VariantRuns>> run_all(const Experiment& experiment, const std::vector<Variant>& variants,
                                                bool score_training) {
  const TrainOptions& o = experiment.options();
  std::vector<VariantRuns> all;
  for (const Variant& variant : variants) all.push_back({variant, {}, {}});
  for (int s = 0; s < o.seeds; ++s)
    for (VariantRuns& of : all) {
      const int64_t seed = int64_t(o.seed) + s;
      of.folders.push_back(format("{}/{}/seed-{}", o.out, of.variant.label, seed));
      std::cout << "\n== " << of.variant.label << ", seed " << seed << " ==\n";
      of.results.push_back(train(experiment, of.variant, uint64_t(seed), of.folders.back(), 0, score_training));
      if (of.results.back().interrupted) return std::nullopt;
    }
  return all;
}

int compare(const Experiment& experiment, const std::vector<Variant>& variants) {
  const TrainOptions& o = experiment.options();
  const auto runs = run_all(experiment, variants, true);
  if (!runs) return 130;
  if (o.epochs == 0) {
    std::cout << "\nthe initial models are in " << o.out << "/VARIANT/seed-S/model\n";
    return 0;
  }
  std::cout << '\n' << o.seeds << (o.seeds == 1 ? " seed" : " seeds, mean ± standard deviation")
            << "; the best epoch of each run by its mean dev score\n";
  print_table("Training metrics [CLN]: on the training set", experiment, *runs, &RunResult::train);
  print_table("Dev metrics (the paper prints the test set's; its labels are not public)", experiment, *runs,
              &RunResult::dev);
  std::cout << '\n';
  for (const VariantRuns& c : *runs) {
    double seconds = 0;
    for (const RunResult& run : c.results) seconds += run.seconds;
    std::cout << "  " << padded(c.variant.label, 24) << fixed(seconds / double(c.results.size()), 1)
              << " s of training a run\n";
  }
  write_training_figure(o.out, experiment, *runs);
  print_in_words(experiment, best_run(*runs));
  return 0;
}

}  // namespace minbert
