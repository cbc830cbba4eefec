// The figure of training: for each task its loss over the steps and its leading dev score over the epochs. It is made
// from steps.csv and epochs.csv of the run folders, so that a resumed run's figure shows the whole.
#include <cmath>

#include "curves.h"
#include "train/shared.h"

namespace minbert {
namespace {

Series scores_of(const std::string& folder, const Task& task) {
  const auto table = read_columns(folder + "/epochs.csv");
  Series scores;
  for (size_t i = 0; i < table.at("epoch").size(); ++i) {
    const std::string& score = table.at(column_name(task, measures(task)[0]))[i];
    scores.x.push_back(std::stod(table.at("epoch")[i]));
    scores.y.push_back(score == "undefined" ? NAN : std::stod(score));
  }
  return scores;
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
    Panel dev{.title = task.title + ": dev", .x_label = "epoch", .y_label = metric_name(task.metrics[0])};
    for (const VariantRuns& variant : variants) {
      std::vector<Series> scores;
      for (const std::string& run : variant.folders) scores.push_back(scores_of(run, task));
      training.curves.push_back(loss_curve(variant.variant.label, variant.folders, task.name));
      dev.curves.push_back(mean_of(variant.variant.label, scores));
      dev.curves.back().style = Curve::Style::line_and_points;
    }
    figure.panels.push_back(training), figure.panels.push_back(dev);
  }
  write_figure(folder + "/figures/training", figure);
}

}  // namespace minbert
