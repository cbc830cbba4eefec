// Tables over the runs of several variants.
#include "runs/comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include "engine/ranks.h"
#include "engine/text.h"
#include "report/curves.h"
#include "report/long_table.h"
#include "report/paper.h"
#include "report/run_figures.h"
#include "runs/in_words.h"
#include "runs/run_page.h"
#include "runs/yardsticks.h"

namespace minbert {
namespace {

// One thing that a table tells of every line: of a variant, or of a yardstick, which stands there as
// a variant with one seed and without a folder.
struct Column {
  std::string title;
  std::function<ItemReport::Cell(const VariantRuns&)> cell;
};

// A column of what only runs have: yardsticks leave it empty.
Column mean_column(const std::string& title, int digits, double (*value)(const RunResult&)) {
  return {title, [=](const VariantRuns& runs) {
            Numbers values;
            for (const RunResult& run : runs.results) values.push_back(value(run));
            return ItemReport::Cell{"", runs.folders.empty() ? "" : fixed(summarize(values).mean, digits)};
          }};
}

enum class Set { train, dev };

// Every measure of every task beside what the paper prints; shares are in percent, as there.
std::vector<Column> score_columns(const Experiment& experiment, Set set, const LongTable& printed) {
  std::vector<Column> columns;
  for (size_t t = 0; t < experiment.data().size(); ++t) {
    Task task = experiment.data()[t].task;
    if (set == Set::train) task.sets = {""};        // there is one training set
    const std::vector<Measure> list = measures(task);
    for (size_t m = 0; m < list.size(); ++m) {
      const Metric metric = list[m].metric;
      const bool percent = metric == Metric::accuracy || metric == Metric::f1;
      const auto cell = [=](const VariantRuns& runs) {
        Numbers all, defined;
        for (const RunResult& run : runs.results) {
          const auto measured = (set == Set::train ? run.train : run.dev)[t][m];
          all.push_back((percent ? 100 : 1) * measured.value_or(NAN));
          if (measured) defined.push_back(all.back());
        }
        ItemReport::Cell score{"", defined_text(defined, all.size(), percent ? 2 : 4)};
        if (all.size() > 1) score.points = all;
        if (runs.variant.from_scratch) return score;
        for (const double v : printed.values(
                 {{"task", task.name}, {"metric", name_of(metric)}, {"norm", runs.variant.norm}})) {
          score.printed = fixed(v, metric == Metric::accuracy ? 2 : 4);
          if (!score.points.empty()) score.printed_point = v;
        }
        return score;
      };
      columns.push_back({formatted("{} ({}{})", title_of(task, list[m].set), metric_name(metric),
                                   percent ? ", %" : ""), cell});
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
  std::vector<Column> columns =
      score_columns(experiment, Set::dev, LongTable({"task", "metric", "norm", "value"}));
  const auto mean_steps = [=](const VariantRuns& runs) {
    Numbers steps;
    for (const std::string& folder : runs.folders)
      if (const auto step = steps_until(losses_of(folder, first.name), to_loss)) steps.push_back(*step);
    const size_t all = runs.folders.size();
    return ItemReport::Cell{"", all ? defined_text(steps, all, 0, "never") : ""};
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

using TableLines = std::vector<VariantRuns>;
TableLines yardstick_lines(const Experiment& experiment, const Json& start) {
  TableLines lines;
  for (const Scores& scores : yardsticks_of(experiment, start)) {
    const std::string& name = yardstick_names[lines.size()];
    lines.push_back({{.label = name, .norm = name, .cls_norm = "-"}, {}, {{.train = {}, .dev = scores}}});
  }
  return lines;
}

TableLines appended(TableLines lines, const TableLines& more) {
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

// Adds the table to the page, and returns it as text: the heads; a line each, with these names before
// its cells; and the lines of the paper that have a number.
using Cells = std::vector<Names>;
Cells add_table(ItemReport& item, const std::string& title, const std::vector<Column>& columns,
                const TableLines& lines, const Names& heads, Names (*names_of)(const Variant&)) {
  Cells text = {heads}, paper;
  Names page_heads = {""};
  for (const Column& column : columns) {
    text[0].push_back(column.title);
    page_heads.push_back(column.title);
  }
  const auto shown = [](const std::string& cell) { return cell.empty() ? "-" : cell; };
  std::vector<ItemReport::TableRow> rows;
  for (const VariantRuns& line : lines) {
    rows.push_back({line.variant.label, {}});
    text.push_back(names_of(line.variant));
    Names printed = {"paper, " + line.variant.norm};
    bool any = false;
    for (const Column& column : columns) {
      const ItemReport::Cell cell = column.cell(line);
      rows.back().cells.push_back(cell);
      text.back().push_back(shown(cell.ours));
      printed.push_back(shown(cell.printed));
      any |= !cell.printed.empty();
    }
    if (any) paper.push_back(printed);
  }
  item.table(title, page_heads, rows);
  text.insert(text.end(), paper.begin(), paper.end());
  return text;
}

Cells transposed(const Cells& lines) {
  Cells columns(lines[0].size());
  for (const auto& line : lines)
    for (size_t c = 0; c < columns.size(); ++c) columns[c].push_back(line[c]);
  return columns;
}

// OUT/run.json and OUT/report.html: the items, and every run's own page.
void write_comparison(const Experiment& experiment, const Json& start,
                      const std::vector<VariantRuns>& runs, std::vector<ItemReport> items) {
  const std::string& out = experiment.options().out;
  Json all = Json::object();
  std::vector<ItemReport::TableRow> rows;
  items.push_back(page_item(out, "runs", "Each run by itself"));
  for (const auto& [variant, folders, results] : runs)
    for (size_t i = 0; i < results.size(); ++i) {
      const std::string name = folders[i].substr(out.size() + 1);
      const RunResult& r = results[i];
      all.set(name, json_of(experiment, r));
      rows.push_back({name,
                      {{"", fixed(mean_score(r.dev), 4)}, {"", std::to_string(r.best_epoch + 1)},
                       {"", fixed(r.seconds, 1)}}});
      items.back().file(name + "/report.html");
    }
  items.back().table("The mean dev score chooses the epoch",
                     {"run", "mean dev score", "best epoch", "s of training"}, rows);
  write_page(out, start, items);
  write_record(out, Json(start).set("runs", all));
}

// OUT/figures/norms: the losses of the tasks; a row of panels for each placement, a column for each
// task.
void draw_norms(const Experiment& experiment, const std::vector<VariantRuns>& variants) {
  Figure figure{.title = "Training losses", .columns = int(experiment.data().size()), .shared_x = true};
  std::vector<Placement> placements;
  for (const VariantRuns& runs : variants)
    if (std::ranges::find(placements, runs.variant.placement) == placements.end())
      placements.push_back(runs.variant.placement);
  for (const Placement placement : placements)
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
int compare(const Experiment& experiment, const std::vector<Variant>& variants, const Json& start) {
  const TrainOptions& o = experiment.options();
  const TableLines yardsticks =
      ranks().first() && o.epochs > 0 ? yardstick_lines(experiment, start) : TableLines();
  const auto runs = run_all(experiment, variants, start, true);
  if (!runs) return 130;
  if (o.epochs == 0) {
    std::cout << "\nthe initial models are in " << o.out << "/VARIANT/seed-S/model\n";
    return 0;
  }
  std::cout << '\n' << seeds_of(o) << "; the best epoch of each run by its mean dev score\n";
  const Paper paper("cln");
  ItemReport scores = page_item(o.out, "scores", "LayerNorm beside conditional LayerNorm [CLN]");
  bool beside = false;
  const auto print = [&](const char* title, const std::vector<Column>& columns, const TableLines& shown) {
    Cells lines = add_table(scores, title, columns, shown, {""},
                            [](const Variant& variant) { return Names{variant.label}; });
    beside |= lines.size() > 1 + shown.size();
    lines = transposed(lines);                      // a column a variant, as in the paper
    for (auto& line : lines) line[0] = "  " + line[0];
    std::cout << '\n' << title << '\n' << text_table(lines);
  };
  const auto columns_of = [&](Set set, const char* item) {
    return score_columns(experiment, set, paper.item(item).printed);
  };
  print("Training metrics [CLN] (paper: of the real SST, Quora and STS)",
        columns_of(Set::train, "train"), *runs);
  std::vector<Column> dev = columns_of(Set::dev, "test");
  dev.push_back(
      mean_column("s of training a run", 1, [](const RunResult& run) { return run.seconds; }));
  print("Dev metrics (paper: of the real test sets, whose labels are not public)", dev,
        appended(*runs, yardsticks));
  if (beside) {
    const std::string open = "paper: its numbers, on the real SST, Quora and STS. " +
                             paper.document["open"].string();
    scores.differs(open);
    std::cout << '\n' << open << '\n';
  }
  if (ranks().first()) {
    std::vector<DrawnRuns> drawn;
    for (const auto& [variant, folders, results] : *runs) drawn.push_back({variant.label, folders});
    draw_training(o.out, experiment.data(), drawn);
    ItemReport learning = page_item(o.out, "training", "Learning");
    learning.shown("training.svg", "Loss by step, dev score by epoch");
    write_comparison(experiment, start, *runs, {scores, learning});
  }
  print_in_words(experiment, best_run(*runs));
  return 0;
}

int compare_norms(const Experiment& experiment, const std::vector<Variant>& variants,
                  const Json& start, double to_loss) {
  const TableLines yardsticks = ranks().first() ? yardstick_lines(experiment, start) : TableLines();
  const auto runs = run_all(experiment, variants, start, false);
  if (!runs) return 130;
  const std::string &out = experiment.options().out, seeds = seeds_of(experiment.options());
  ItemReport scores = page_item(out, "scores", "Norms side by side: dev scores");
  const auto names_of = [](const Variant& v) {
    return Names{v.norm, v.cls_norm == "-" ? "-" : name_of(v.placement), v.cls_norm,
                 v.grad_norm > 0 ? formatted("{}", v.grad_norm) : "-"};
  };
  const Cells lines = add_table(scores, seeds + "; the best epoch of each run",
                                norm_columns(experiment, to_loss), appended(*runs, yardsticks),
                                {"norm", "placement", "[CLS] norm", "gradient norm"}, names_of);
  std::cout << '\n' << seeds << "; dev scores of the best epoch\n\n" << text_table(lines);
  if (!ranks().first()) return 0;
  draw_norms(experiment, *runs);
  ItemReport learning = page_item(out, "training", "Learning");
  learning.shown("norms.svg", "Training losses, each point a mean over neighboring batches");
  write_comparison(experiment, start, *runs, {scores, learning});
  return 0;
}

}  // namespace minbert
