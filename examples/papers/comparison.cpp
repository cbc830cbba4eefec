// Tables over the runs of several variants.
#include "papers/comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include "engine/ranks.h"
#include "engine/text.h"
#include "files/about.h"
#include "papers/in_words.h"
#include "papers/long_table.h"
#include "report/curves.h"
#include "report/run_figures.h"

namespace minbert {
namespace {

// One thing that a table tells of every variant.
struct Column {
  std::string title;
  std::function<std::string(const VariantRuns&)> cell;
  std::string task = {}, metric = {};              // of a score
};
using Cells = std::vector<Names>;

// A line for each variant.
Cells cells_of(const std::vector<VariantRuns>& runs, const std::vector<Column>& columns) {
  Cells lines(1 + runs.size());
  for (const Column& column : columns) {
    lines[0].push_back(column.title);
    for (size_t i = 0; i < runs.size(); ++i) lines[i + 1].push_back(column.cell(runs[i]));
  }
  return lines;
}

Cells transposed(const Cells& lines) {
  Cells columns(lines[0].size());
  for (const auto& line : lines)
    for (size_t c = 0; c < columns.size(); ++c) columns[c].push_back(line[c]);
  return columns;
}

// The mean over the runs that have a value, and of several their standard deviation; none: the word
// for those without.
std::string mean_cell(const std::vector<std::optional<double>>& runs, int digits, const char* none,
                      bool deviation = true) {
  Numbers values;
  for (const auto& run : runs)
    if (run) values.push_back(*run);
  if (values.empty()) return none;
  return (deviation ? mean_text(values, digits) : fixed(summarize(values).mean, digits)) +
         (values.size() < runs.size() ? formatted(" ({} {})", runs.size() - values.size(), none)
                                      : "");
}

Column mean_column(const std::string& title, int digits, double (*value)(const RunResult&)) {
  return {title, [=](const VariantRuns& runs) {
            double sum = 0;
            for (const RunResult& run : runs.results) sum += value(run);
            return fixed(sum / double(runs.results.size()), digits);
          }};
}

enum class Set { train, dev };

// Every measure of every task; shares are in percent, as the paper prints them.
std::vector<Column> score_columns(const Experiment& experiment, Set set) {
  std::vector<Column> columns;
  for (size_t t = 0; t < experiment.data().size(); ++t) {
    Task task = experiment.data()[t].task;
    if (set == Set::train) task.sets = {""};        // there is one training set
    const std::vector<Measure> list = measures(task);
    for (size_t m = 0; m < list.size(); ++m) {
      const bool percent = list[m].metric == Metric::accuracy || list[m].metric == Metric::f1;
      const auto cell = [=](const VariantRuns& runs) {
        std::vector<std::optional<double>> values;
        for (const RunResult& run : runs.results) {
          values.push_back((set == Set::train ? run.train : run.dev)[t][m]);
          if (percent && values.back()) *values.back() *= 100;
        }
        return mean_cell(values, percent ? 2 : 4, "undefined");
      };
      columns.push_back({formatted("{} ({}{})", title_of(task, list[m].set),
                                   metric_name(list[m].metric), percent ? ", %" : ""),
                         cell, task.name, metric_key(list[m].metric)});
    }
  }
  return columns;
}

// The first step at which the mean of the task's last ten losses is below the level.
std::optional<double> steps_until(const Series& losses, double level) {
  constexpr size_t window = 10;
  double sum = 0;
  for (size_t i = 0; i < losses.x.size(); ++i) {
    sum += losses.y[i] - (i >= window ? losses.y[i - window] : 0);
    if (i + 1 >= window && sum / double(window) < level) return losses.x[i];
  }
  return std::nullopt;
}

std::vector<Column> norm_columns(const Experiment& experiment, double to_loss) {
  const Task& first = experiment.data()[0].task;
  std::vector<Column> columns = {
      {"norm", [](const VariantRuns& runs) { return runs.variant.norm; }},
      {"placement", [](const VariantRuns& runs) { return runs.variant.placement; }},
      {"[CLS] norm", [](const VariantRuns& runs) { return runs.variant.cls_norm; }},
      {"gradient norm", [](const VariantRuns& runs) {
         return runs.variant.grad_norm > 0 ? formatted("{}", runs.variant.grad_norm) : "-";
       }}};
  for (const Column& column : score_columns(experiment, Set::dev)) columns.push_back(column);
  const auto mean_steps = [=](const VariantRuns& runs) {
    std::vector<std::optional<double>> steps;
    for (const std::string& folder : runs.folders)
      steps.push_back(steps_until(losses_of(folder, first.name), to_loss));
    return mean_cell(steps, 0, "never", false);
  };
  columns.push_back({formatted("steps to {} loss {}", first.title, to_loss), mean_steps});
  columns.push_back(
      mean_column("|g| at first", 2, [](const RunResult& run) { return run.first_gradient; }));
  columns.push_back(mean_column("ms a step", 1, [](const RunResult& run) {
    return run.seconds * 1000 / double(run.steps);
  }));
  return columns;
}

// The folder of the run with the best mean dev score.
std::string best_run(const std::vector<VariantRuns>& variants) {
  std::string folder;
  double best = -INFINITY;
  for (const VariantRuns& runs : variants)
    for (size_t i = 0; i < runs.results.size(); ++i)
      if (const double mean = mean_score(runs.results[i].dev); mean > best) {
        best = mean;
        folder = runs.folders[i];
      }
  return folder;
}

// What the paper prints for these columns, with each norm of the runs: "paper, layer", ...; no line
// without a number.
Cells printed_lines(const Json& paper, const char* item, const std::vector<Column>& columns,
                    const std::vector<VariantRuns>& all) {
  const LongTable printed = table_of(paper["printed"][item]);
  Cells lines;
  for (const VariantRuns& runs : all) {
    Names line = {"paper, " + runs.variant.norm};
    bool any = false;
    for (const Column& column : columns) {
      const Numbers value = printed.values(
          {{"task", column.task}, {"metric", column.metric}, {"norm", runs.variant.norm}});
      line.push_back(value.empty() ? "-" : fixed(value[0], column.metric == "accuracy" ? 2 : 4));
      any |= !value.empty();
    }
    if (any && !runs.variant.from_scratch) lines.push_back(line);
  }
  return lines;
}

// OUT/figures/norms: the losses of the tasks; a row of panels for each placement, a column for each
// task.
void draw_norms(const Experiment& experiment, const std::vector<VariantRuns>& variants) {
  Figure figure{.title = "Training losses", .columns = int(experiment.data().size())};
  Names placements;
  for (const VariantRuns& runs : variants)
    if (std::ranges::find(placements, runs.variant.placement) == placements.end())
      placements.push_back(runs.variant.placement);
  for (const std::string& placement : placements)
    for (const TaskData& data : experiment.data()) {
      Panel panel{.title = formatted("{} ({})", data.task.title, placement), .x_label = "step",
                  .y_label = "training loss"};
      for (const VariantRuns& runs : variants)
        if (runs.variant.placement == placement)
          panel.curves.push_back(loss_curve(norms_of(runs.variant), runs.folders, data.task.name));
      figure.panels.push_back(panel);
    }
  write_figure(experiment.options().out + "/figures/norms", figure);
}

std::string seeds_of(const TrainOptions& o) {
  return formatted("{} {}", o.seeds, o.seeds == 1 ? "seed" : "seeds, mean ± standard deviation");
}

}  // namespace

// [CLN tab.train] [CLN tab.test]
int compare(const Experiment& experiment, const std::vector<Variant>& variants) {
  const TrainOptions& o = experiment.options();
  const auto runs = run_all(experiment, variants, true);
  if (!runs) return 130;
  if (o.epochs == 0) {
    std::cout << "\nthe initial models are in " << o.out << "/VARIANT/seed-S/model\n";
    return 0;
  }
  std::cout << '\n' << seeds_of(o) << "; the best epoch of each run by its mean dev score\n";
  const Column label = {"", [](const VariantRuns& of) { return of.variant.label; }};
  const Json paper = Json::load(shipped("data/papers/cln.json"));
  bool beside = false;
  const auto print = [&](const char* title, const char* item, std::vector<Column> columns) {
    const Cells printed = printed_lines(paper, item, columns, *runs);
    beside |= !printed.empty();
    columns.insert(columns.begin(), label);
    Cells lines = cells_of(*runs, columns);
    lines.insert(lines.end(), printed.begin(), printed.end());
    lines = transposed(lines);                      // a column a variant, as in the paper
    for (auto& line : lines) line[0] = "  " + line[0];
    std::cout << '\n' << title << '\n' << text_table(lines);
  };
  print("Training metrics [CLN]: on the training set", "train",
        score_columns(experiment, Set::train));
  std::vector<Column> dev = score_columns(experiment, Set::dev);
  dev.push_back(
      mean_column("s of training a run", 1, [](const RunResult& run) { return run.seconds; }));
  print("Dev metrics (the paper prints the test set's; its labels are not public)", "test", dev);
  if (beside)
    std::cout << "\npaper: its numbers, on the real SST, Quora and STS. " << paper["open"].string()
              << '\n';
  std::vector<DrawnRuns> drawn;
  for (const VariantRuns& of : *runs) drawn.push_back({of.variant.label, of.folders});
  if (ranks().first()) draw_training(o.out, experiment.data(), drawn);
  print_in_words(experiment, best_run(*runs));
  return 0;
}

int compare_norms(const Experiment& experiment, const std::vector<Variant>& variants,
                  double to_loss) {
  const auto runs = run_all(experiment, variants, false);
  if (!runs) return 130;
  std::cout << '\n' << seeds_of(experiment.options()) << "; dev scores of the best epoch\n\n"
            << text_table(cells_of(*runs, norm_columns(experiment, to_loss)));
  if (ranks().first()) draw_norms(experiment, *runs);
  return 0;
}

}  // namespace minbert
