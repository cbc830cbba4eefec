// Several runs under the same seeds, and the paper's two tables [CLN tab.train] [CLN tab.test].
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "norm/text_table.h"
#include "shared.h"

namespace minbert {
namespace {

struct Column : VariantRuns {                       // of the tables
  std::vector<RunResult> runs;                      // one a folder
};

bool in_percent(Metric metric) { return metric == Metric::accuracy || metric == Metric::f1; }

// "0.5123 ± 0.0045"; shares in percent, as the paper prints them
std::string cell(const Task& task, const std::vector<Scores>& runs, size_t i) {
  std::vector<double> values;
  for (const Scores& scores : runs)
    if (scores[i]) values.push_back(*scores[i]);
  if (values.empty()) return "undefined";
  const bool percent = in_percent(task.metric);
  for (double& v : values) v *= percent ? 100 : 1;
  const Summary s = summarize(values);
  std::ostringstream out;
  out << std::fixed << std::setprecision(percent ? 2 : 4) << s.mean;
  if (values.size() > 1) out << " ± " << s.deviation;
  if (values.size() < runs.size()) out << " (" << runs.size() - values.size() << " undefined)";
  return out.str();
}

std::string padded(const std::string& text, size_t to) {
  return text + std::string(to - std::min(to, text_width(text)), ' ');
}

void print_table(const std::string& title, const Experiment& experiment, const std::vector<Column>& columns,
                 const Scores RunResult::*part) {
  std::cout << '\n' << title << "\n  " << padded("", 24);
  for (const Column& c : columns) std::cout << padded(c.label, 22);
  std::cout << '\n';
  for (size_t i = 0; i < experiment.data().size(); ++i) {
    const Task& task = experiment.data()[i].task;
    std::cout << "  "
              << padded(format("{} ({}{})", task.title, metric_name(task.metric),
                               in_percent(task.metric) ? ", %" : ""), 24);
    for (const Column& c : columns) {
      std::vector<Scores> scores;
      for (const RunResult& run : c.runs) scores.push_back(run.*part);
      std::cout << padded(cell(task, scores, i), 22);
    }
    std::cout << '\n';
  }
}

// The folder of the run with the best mean dev score.
std::string best_run(const std::vector<Column>& columns) {
  std::string folder;
  double best = -INFINITY;
  for (const Column& c : columns)
    for (size_t i = 0; i < c.runs.size(); ++i)
      if (const double mean = mean_score(c.runs[i].dev); mean > best) best = mean, folder = c.folders[i];
  return folder;
}

}  // namespace

std::vector<Variant> variants_of(const TrainOptions& o) {
  if (!o.compare) return {{o.from_scratch ? "from-scratch" : o.norm, o.norm, o.placement, o.from_scratch}};
  std::vector<Variant> variants = {{"layer", "layer", o.placement},
                                   {"conditional-layer", "conditional-layer", o.placement}};
  if (o.from_scratch) variants.push_back({"from-scratch", "conditional-layer", o.placement, true});
  return variants;
}

int compare(const Experiment& experiment, const std::vector<Variant>& variants) {
  const TrainOptions& o = experiment.options();
  std::vector<Column> columns(variants.size());
  for (int s = 0; s < o.seeds; ++s)
    for (size_t v = 0; v < variants.size(); ++v) {
      const int64_t seed = int64_t(o.seed) + s;
      Column& column = columns[v];
      column.label = variants[v].label;
      column.folders.push_back(format("{}/{}/seed-{}", o.out, column.label, seed));
      std::cout << "\n== " << column.label << ", seed " << seed << " ==\n";
      column.runs.push_back(train(experiment, variants[v], uint64_t(seed), column.folders.back()));
      if (column.runs.back().interrupted) return 130;
    }
  if (o.epochs == 0) {
    std::cout << "\nthe initial models are in " << o.out << "/VARIANT/seed-S/model\n";
    return 0;
  }
  std::cout << '\n' << o.seeds << (o.seeds == 1 ? " seed" : " seeds, mean ± standard deviation")
            << "; the best epoch of each run by its mean dev score\n";
  print_table("Training metrics [CLN]: on the training set", experiment, columns, &RunResult::train);
  print_table("Dev metrics (the paper prints the test set's; its labels are not public)", experiment, columns,
              &RunResult::dev);
  std::cout << '\n';
  for (const Column& c : columns) {
    double seconds = 0;
    for (const RunResult& run : c.runs) seconds += run.seconds;
    std::cout << "  " << padded(c.label, 24) << std::fixed << std::setprecision(1)
              << seconds / double(c.runs.size()) << " s of training a run\n";
  }
  write_training_figure(o.out, experiment, {columns.begin(), columns.end()});
  print_in_words(experiment, best_run(columns));
  return 0;
}

}  // namespace minbert
