// Tables over the runs of several variants.
#include "runs/comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <span>

#include "engine/ranks.h"
#include "engine/text.h"
#include "files/about.h"
#include "report/curves.h"
#include "report/long_table.h"
#include "report/run_figures.h"
#include "runs/bag_of_words.h"
#include "runs/in_words.h"
#include "runs/run_page.h"

namespace minbert {
namespace {

// One thing that a table tells of every variant.
struct Column {
  std::string title;
  std::function<std::string(const VariantRuns&)> cell;
  // Of a score: whose, and the value of each seed
  std::string task = {}, metric = {};
  std::function<Numbers(const VariantRuns&)> seeds = {};
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
      const auto values_of = [=](const VariantRuns& runs) {
        std::vector<std::optional<double>> values;
        for (const RunResult& run : runs.results) {
          values.push_back((set == Set::train ? run.train : run.dev)[t][m]);
          if (percent && values.back()) *values.back() *= 100;
        }
        return values;
      };
      const auto cell = [=](const VariantRuns& runs) {
        return mean_cell(values_of(runs), percent ? 2 : 4, "undefined");
      };
      const auto seeds = [=](const VariantRuns& runs) {
        Numbers points;
        for (const auto& value : values_of(runs)) points.push_back(value.value_or(NAN));
        return points;
      };
      columns.push_back({formatted("{} ({}{})", title_of(task, list[m].set),
                                   metric_name(list[m].metric), percent ? ", %" : ""),
                         cell, task.name, name_of(list[m].metric), seeds});
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
      {"placement", [](const VariantRuns& runs) { return name_of(runs.variant.placement); }},
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

// As if each yardstick were a variant with one seed.
using NamedRuns = std::vector<std::pair<std::string, VariantRuns>>;
NamedRuns yardstick_runs(const Experiment& experiment, const Json& start) {
  NamedRuns all;
  for (const Scores& scores : yardsticks_of(experiment, start))
    all.push_back({yardstick_names[all.size()], {{}, {}, {{.train = {}, .dev = scores}}}});
  return all;
}

// "-" stands where a column is no score.
Cells yardstick_lines(const NamedRuns& yardsticks, const std::vector<Column>& columns) {
  Cells lines;
  for (const auto& [name, runs] : yardsticks) {
    lines.push_back({name});
    for (size_t c = 1; c < columns.size(); ++c)
      lines.back().push_back(columns[c].seeds ? columns[c].cell(runs) : "-");
  }
  return lines;
}

std::optional<double> printed_score(const LongTable& printed, const Column& column,
                                    const Variant& variant) {
  if (variant.from_scratch) return std::nullopt;
  const Numbers value = printed.values(
      {{"task", column.task}, {"metric", column.metric}, {"norm", variant.norm}});
  return value.empty() ? std::nullopt : std::optional(value[0]);
}

std::string printed_text(const std::optional<double>& value, const Column& column) {
  return value ? fixed(*value, column.metric == "accuracy" ? 2 : 4) : "-";
}

// What the paper prints for these columns, with each norm of the runs: "paper, layer", ...; no line
// without a number.
Cells printed_lines(const LongTable& printed, const std::vector<Column>& columns,
                    const std::vector<VariantRuns>& all) {
  Cells lines;
  for (const VariantRuns& runs : all) {
    Names line = {"paper, " + runs.variant.norm};
    bool any = false;
    for (const Column& column : columns) {
      const auto value = printed_score(printed, column, runs.variant);
      line.push_back(printed_text(value, column));
      any |= value.has_value();
    }
    if (any) lines.push_back(line);
  }
  return lines;
}

// The same for the page, without the columns that only name the variant: its label does. A line for
// each variant and yardstick, so that the dots of a column have one unit.
void add_scores(ItemReport& item, const std::string& title, const std::vector<Column>& columns,
                const LongTable& printed, const std::vector<VariantRuns>& runs,
                const NamedRuns& yardsticks) {
  const auto scores = std::ranges::find_if(columns, [](const Column& c) { return !!c.seeds; });
  const std::span<const Column> shown(scores, columns.end());
  Names heads = {""};
  for (const Column& column : shown) heads.push_back(column.title);
  std::vector<ItemReport::TableRow> rows;
  for (const VariantRuns& of : runs) {
    rows.push_back({of.variant.label, {}});
    for (const Column& column : shown) {
      const auto value = printed_score(printed, column, of.variant);
      ItemReport::Cell cell{value ? printed_text(value, column) : "", column.cell(of)};
      if (column.seeds && of.results.size() > 1)
        cell.points = column.seeds(of), cell.printed_point = value;
      rows.back().cells.push_back(cell);
    }
  }
  for (const auto& [name, of] : yardsticks) {
    rows.push_back({name, {}});
    for (const Column& column : shown)
      rows.back().cells.push_back({"", column.seeds ? column.cell(of) : ""});
  }
  item.table(title, heads, rows);
}

// OUT/run.json and OUT/report.html: the items, and every run's own page.
void write_comparison(const Experiment& experiment, const Json& start,
                      const std::vector<VariantRuns>& runs, std::vector<ItemReport> items) {
  const std::string& out = experiment.options().out;
  Json all = Json::object();
  std::vector<ItemReport::TableRow> rows;
  items.push_back(page_item(out, "runs", "Each run by itself"));
  for (const VariantRuns& of : runs)
    for (size_t i = 0; i < of.results.size(); ++i) {
      const std::string name = of.folders[i].substr(out.size() + 1);
      const RunResult& r = of.results[i];
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
  const NamedRuns yardsticks =
      ranks().first() && o.epochs > 0 ? yardstick_runs(experiment, start) : NamedRuns();
  const auto runs = run_all(experiment, variants, start, true);
  if (!runs) return 130;
  if (o.epochs == 0) {
    std::cout << "\nthe initial models are in " << o.out << "/VARIANT/seed-S/model\n";
    return 0;
  }
  std::cout << '\n' << seeds_of(o) << "; the best epoch of each run by its mean dev score\n";
  const Column label = {"", [](const VariantRuns& of) { return of.variant.label; }};
  const Json paper = Json::load(shipped("data/papers/cln.json"));
  ItemReport scores = page_item(o.out, "scores", "LayerNorm beside conditional LayerNorm [CLN]");
  bool beside = false;
  const auto print = [&](const char* title, const char* item, std::vector<Column> columns,
                         const NamedRuns& others) {
    const LongTable printed = table_of(paper["printed"][item]);
    add_scores(scores, title, columns, printed, *runs, others);
    const Cells of_paper = printed_lines(printed, columns, *runs);
    beside |= !of_paper.empty();
    columns.insert(columns.begin(), label);
    Cells lines = cells_of(*runs, columns);
    for (const Cells& more : {yardstick_lines(others, columns), of_paper})
      lines.insert(lines.end(), more.begin(), more.end());
    lines = transposed(lines);                      // a column a variant, as in the paper
    for (auto& line : lines) line[0] = "  " + line[0];
    std::cout << '\n' << title << '\n' << text_table(lines);
  };
  print("Training metrics [CLN] (paper: of the real SST, Quora and STS)", "train",
        score_columns(experiment, Set::train), {});
  std::vector<Column> dev = score_columns(experiment, Set::dev);
  dev.push_back(
      mean_column("s of training a run", 1, [](const RunResult& run) { return run.seconds; }));
  print("Dev metrics (paper: of the real test sets, whose labels are not public)", "test", dev,
        yardsticks);
  if (beside) {
    const std::string open = "paper: its numbers, on the real SST, Quora and STS. " +
                             paper["open"].string();
    scores.differs(open);
    std::cout << '\n' << open << '\n';
  }
  if (ranks().first()) {
    std::vector<DrawnRuns> drawn;
    for (const VariantRuns& of : *runs) drawn.push_back({of.variant.label, of.folders});
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
  const NamedRuns yardsticks = ranks().first() ? yardstick_runs(experiment, start) : NamedRuns();
  const auto runs = run_all(experiment, variants, start, false);
  if (!runs) return 130;
  const std::vector<Column> columns = norm_columns(experiment, to_loss);
  Cells lines = cells_of(*runs, columns);
  const Cells more = yardstick_lines(yardsticks, columns);
  lines.insert(lines.end(), more.begin(), more.end());
  std::cout << '\n' << seeds_of(experiment.options()) << "; dev scores of the best epoch\n\n"
            << text_table(lines);
  if (!ranks().first()) return 0;
  const std::string& out = experiment.options().out;
  draw_norms(experiment, *runs);
  ItemReport scores = page_item(out, "scores", "Norms side by side: dev scores");
  add_scores(scores, seeds_of(experiment.options()) + "; the best epoch of each run", columns,
             LongTable({"task", "metric", "norm", "value"}), *runs, yardsticks);
  ItemReport learning = page_item(out, "training", "Learning");
  learning.shown("norms.svg", "Training losses, each point a mean over neighboring batches");
  write_comparison(experiment, start, *runs, {scores, learning});
  return 0;
}

}  // namespace minbert
