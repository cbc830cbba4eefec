// Curves of losses and scores, for each run and for several seeds.
#include "report/run_figures.h"

#include "report/curves.h"

namespace minbert {
namespace {

Series scores_of(const std::string& folder, const Task& task) {
  const CsvTable table(folder + "/epochs.csv");
  return {table.numbers("epoch"), table.numbers(column_name(task, measures(task)[0]))};
}

const char* loss_name(TaskKind kind) {
  return kind == TaskKind::classification ? "cross-entropy"
         : kind == TaskKind::binary       ? "binary cross-entropy" : "squared error";
}

}  // namespace

void draw_training(const std::string& folder, const std::vector<TaskData>& data,
                   const std::vector<DrawnRuns>& runs) {
  const size_t seeds = runs.at(0).folders.size();
  Figure figure{
      .title = seeds > 1 ? formatted("Mean and standard deviation of {} seeds", seeds) : "",
      .columns = 2,
      .shared_x = true};
  for (const TaskData& d : data) {
    const Task& task = d.task;
    Panel training{
        .title = task.title + ": training", .x_label = "step", .y_label = loss_name(task.kind)};
    Panel dev{
        .title = task.title + ": dev", .x_label = "epoch", .y_label = metric_name(task.metrics[0])};
    for (const DrawnRuns& drawn : runs) {
      std::vector<Series> scores;
      for (const std::string& run : drawn.folders) scores.push_back(scores_of(run, task));
      training.curves.push_back(loss_curve(drawn.label, drawn.folders, task.name));
      dev.curves.push_back(mean_of(drawn.label, scores));
      dev.curves.back().style = Curve::Style::line_and_points;
    }
    figure.panels.push_back(training);
    figure.panels.push_back(dev);
  }
  write_figure(folder + "/figures/training", figure);
}

void draw_pretraining(const PretrainOptions& o, const PretrainResult& result) {
  const CsvTable steps(o.out + "/steps.csv"), evaluations(o.out + "/evaluations.csv");
  const Series training =
      smoothed({steps.numbers("step"), steps.numbers("mlm_loss")}, steps.rows());
  Panel loss{.title = "masked words", .x_label = "step", .y_label = "cross-entropy"};
  loss.curves.push_back({.title = "training", .x = training.x, .y = training.y});
  Figure figure{.title = "", .columns = 2, .panels = {loss}};
  if (evaluations.rows() > 0) {                      // held-out text was there
    const auto level = [&](const char* title, double y) {
      return Curve{.title = title, .x = {0, double(o.steps)}, .y = {y, y}};
    };
    const Numbers x = evaluations.numbers("step");
    using enum Curve::Style;
    std::vector<Curve>& curves = figure.panels[0].curves;
    curves.push_back({.title = "held out",
                      .x = x,
                      .y = evaluations.numbers("mlm_loss"),
                      .style = line_and_points});
    curves.push_back(level("words' frequencies", result.unigram_entropy));
    curves.push_back(level("untrained", result.untrained.mlm_loss));
    if (result.next_sentence) {
      Panel pairs{.title = "next sentence", .x_label = "step", .y_label = "accuracy, held out"};
      const Numbers right = evaluations.numbers("nsp_accuracy");
      pairs.curves.push_back({.title = "", .x = x, .y = right, .style = line_and_points});
      figure.panels.push_back(pairs);
    }
  }
  write_figure(o.out + "/figures/pretraining", figure);
}

}  // namespace minbert
