// The figure of training: for each task its loss over the steps and its dev score over the epochs. It is made from
// steps.csv and epochs.csv of the run folders, so that a resumed run's figure shows the whole.
#include <cmath>

#include "curves.h"
#include "shared.h"

namespace minbert {
namespace {

Series losses_of(const std::string& folder, const Task& task) {
  const auto table = read_columns(folder + "/steps.csv");
  Series losses;
  for (size_t i = 0; i < table.at("task").size(); ++i) {
    if (table.at("task")[i] != task.name) continue;
    losses.x.push_back(std::stod(table.at("step")[i])), losses.y.push_back(std::stod(table.at("loss")[i]));
  }
  return losses;
}

Series scores_of(const std::string& folder, const Task& task) {
  const auto table = read_columns(folder + "/epochs.csv");
  Series scores;
  for (size_t i = 0; i < table.at("epoch").size(); ++i) {
    const std::string& score = table.at(task.name + "_dev")[i];
    scores.x.push_back(std::stod(table.at("epoch")[i]));
    scores.y.push_back(score == "undefined" ? NAN : std::stod(score));
  }
  return scores;
}

// At each point the mean over the runs that got so far and have a score there, and of several runs the deviation.
Curve mean_of(const std::string& title, const std::vector<Series>& runs) {
  Curve curve{.title = title};
  size_t longest = 0;
  for (const Series& run : runs) longest = std::max(longest, run.x.size());
  for (size_t i = 0; i < longest; ++i) {
    std::vector<double> x, y;
    for (const Series& run : runs) {
      if (i >= run.x.size()) continue;
      x.push_back(run.x[i]);
      if (std::isfinite(run.y[i])) y.push_back(run.y[i]);
    }
    const Summary summary = y.empty() ? Summary{NAN, 0} : summarize(y);
    curve.x.push_back(summarize(x).mean), curve.y.push_back(summary.mean);
    if (runs.size() > 1) curve.deviation.push_back(summary.deviation);
  }
  return curve;
}

const char* loss_name(TaskKind kind) {
  return kind == TaskKind::classification ? "cross-entropy"
         : kind == TaskKind::binary       ? "binary cross-entropy" : "squared error";
}

}  // namespace

void write_training_figure(const std::string& folder, const Experiment& experiment,
                           const std::vector<VariantRuns>& variants) {
  const size_t seeds = variants.at(0).folders.size();
  Figure figure{.title = seeds > 1 ? format("Mean and standard deviation of {} seeds", seeds) : "", .columns = 2};
  for (const TaskData& data : experiment.data()) {
    const Task& task = data.task;
    Panel training{.title = task.title + ": training", .x_label = "step", .y_label = loss_name(task.kind)};
    Panel dev{.title = task.title + ": dev", .x_label = "epoch", .y_label = metric_name(task.metric)};
    for (const VariantRuns& variant : variants) {
      std::vector<Series> losses, scores;
      size_t batches = 0;                           // of the longest run: --patience may have ended others earlier
      for (const std::string& run : variant.folders) {
        losses.push_back(losses_of(run, task)), scores.push_back(scores_of(run, task));
        batches = std::max(batches, losses.back().x.size());
      }
      for (Series& run : losses) run = smoothed(run, batches);
      training.curves.push_back(mean_of(variant.label, losses));
      dev.curves.push_back(mean_of(variant.label, scores));
      dev.curves.back().style = Curve::Style::line_and_points;
    }
    figure.panels.push_back(training), figure.panels.push_back(dev);
  }
  write_figure(folder + "/figures/training", figure);
}

}  // namespace minbert
