// CLN's two tables, its hypothesis on dev scores, and what conditional LayerNorm learns.
#include <cmath>

#include "engine/text.h"
#include "papers/cln/cln.h"
#include "report/curves.h"

namespace minbert {
namespace {

std::string title_of(const Task& task) {
  return formatted("{} ({}, x 100)", task.title, metric_name(task.metrics[0]));
}
std::vector<DevSet> titled_sets(const ClnRuns& runs) {
  std::vector<DevSet> all = first_dev_sets(runs.tasks());
  for (DevSet& set : all) set.title = title_of(set.task);
  return all;
}

// The scores of the training set or of dev; none of a model that gives every input one answer.
LongTable scores_of(const ClnRuns& runs, Split set) {
  LongTable table({"task", "norm", "seed", "score"});
  for (const Task& task : runs.tasks())
    for (const std::string& norm : cln_norms)
      for (const int seed : runs.document.seeds()) {
        const Json of_task = runs.result(norm, seed)[task.name], dev = of_task["dev"];
        const auto score = set == Split::train ? of_task["train"].number_if()
            : dev_score(dev, first_dev_sets({task})[0]);
        table(task.name, norm, seed) = dev["warnings"].string().empty() ? score : std::nullopt;
      }
  return table;
}

void score_table(const ClnRuns& runs, ItemReport& report, Split set, const std::string& title) {
  report.when("another --sampling", runs.o.sampling != Sampling::sequential);
  const LongTable table = scores_of(runs, set);
  report.csv(table);
  report.judge_by(table, points);
  const auto cell = [&](const std::string& norm, const DevSet& dev) {
    const Task& task = dev.task;
    const auto seeds = size_t(runs.o.seeds);
    Numbers scores = table.values({{"task", task.name}, {"norm", norm}});
    for (double& score : scores) score *= points.factor;
    ItemReport::Cell shown{"", defined_text(scores, seeds, points.digits), scores};
    if (scores.size() < seeds) shown.warning = "a seed gives every input the same answer";
    for (double v : report.printed().values({{"task", task.name}, {"norm", norm},
                                             {"metric", name_of(task.metrics[0])}})) {
      if (task.metrics[0] == Metric::pearson) v *= points.factor;        // its accuracies are in percent
      shown.printed = fixed(v, points.digits);
      shown.printed_point = v;
    }
    return shown;
  };
  report.table(title, "", cln_norms, titled_sets(runs), cell);
}

// [CLN tab.train]
void train_item(const ClnRuns& runs, ItemReport& report) {
  score_table(runs, report, Split::train,
              "On the training set, the best epoch of each run by its mean dev score");
}

// [CLN tab.test], and the comparison that it lacks
void test_item(const ClnRuns& runs, ItemReport& report) {
  score_table(runs, report, Split::dev, "On dev; the document prints the test set's");
  show_yardsticks(runs.document, runs.tasks(), report);
}

// The gains of a run's norms, a value of each
LongTable gains_of(const ClnRuns& runs) {
  LongTable table({"task", "what", "site", "norm", "seed", "value"});
  for (const int seed : runs.document.seeds())
    for (const Json& gain : runs.result(cln_norms[1], seed)["gains"].items())
      for (const char* what : {"gamma", "beta", "gamma_up", "beta_up"})
        table(gain["task"].string(), what, gain["site"].integer(), gain["norm"].string(), seed) =
            gain[what].number();
  return table;
}

// [CLN eq.4]
void gains_item(const ClnRuns& runs, ItemReport& report) {
  const LongTable table = gains_of(runs);
  report.csv(table);
  int64_t sites = 0;
  for (const LongTable::Row& row : table.rows()) sites = std::max(sites, int64_t(std::stoi(row.keys[2])) + 1);
  const auto panel = [&](const std::string& what, const std::string& title, const std::string& label) {
    Panel all{.title = title, .x_label = "norm: 0 the embeddings', then two a layer", .y_label = label};
    for (const Task& task : runs.tasks()) {
      Curve curve{.title = task.title, .style = Curve::Style::line_and_points};
      for (int64_t site = 0; site < sites; ++site)
        add_mean(curve, double(site),
                 table.values({{"task", task.name}, {"what", what}, {"site", std::to_string(site)}}));
      all.curves.push_back(curve);
    }
    return all;
  };
  report.figure({.title = "",
                 .columns = 2,
                 .panels = {panel("gamma", "γ_t", "|γ_t|"), panel("beta", "β_t", "|β_t|"),
                            panel("gamma_up", "sign of γ_t", "share above 0"),
                            panel("beta_up", "sign of β_t", "share above 0")},
                 .shared_y = true},
                "How far each task's norms are from the shared ones, norm by norm, and which way; the "
                "mean over the seeds with their deviation");
}

// |γ_t| and the dev scores by epoch [CLN epochs]
void epochs_item(const ClnRuns& runs, ItemReport& report) {
  LongTable table({"task", "what", "norm", "epoch", "seed", "value"});
  const auto curve = [&](const Task& task, const std::string& norm, const std::string& column,
                         const std::string& what, double factor) {
    std::vector<Series> of_seeds;
    for (const int seed : runs.document.seeds()) {
      const CsvTable epochs(runs.document.folder(runs.training(norm, seed)) + "/epochs.csv");
      Series& series = of_seeds.emplace_back();
      for (const double value : epochs.numbers(column)) {
        series.add(double(series.x.size() + 1), factor * value);
        table(task.name, what, norm, series.x.size(), seed) = finite(value);
      }
    }
    Curve mean = mean_of(norm, of_seeds);
    mean.style = Curve::Style::line_and_points;
    return mean;
  };
  Figure figure{.title = "", .columns = 2};
  for (const Task& task : runs.tasks()) {
    Panel scores{.title = title_of(task), .x_label = "epoch", .y_label = "dev score"};
    for (const std::string& norm : cln_norms)
      scores.curves.push_back(
          curve(task, norm, column_name(task, measures(task)[0]), "dev", points.factor));
    figure.panels.push_back(scores);
  }
  Panel lengths{.title = "γ_t", .x_label = "epoch", .y_label = "mean of |γ_t| over the norms"};
  for (const Task& task : runs.tasks()) {
    lengths.curves.push_back(curve(task, cln_norms[1], task.name + "_gamma", "gamma", 1));
    lengths.curves.back().title = task.title;
  }
  figure.panels.push_back(lengths);
  report.csv(table);
  report.figure(figure, "Epoch by epoch: dev scores, and how long γ_t has become; the mean over the seeds, each norm "
                        "with its own deviation; claims compare the pairs of a seed");
}

// What a task loses while the others are trained
void forgetting_item(const ClnRuns& runs, ItemReport& report) {
  report.when("one epoch", runs.o.epochs < 2);
  if (!runs.forgets()) return;
  LongTable table({"task", "norm", "when", "seed", "loss"}), rises({"task", "norm", "seed", "rise"});
  report.table("Training loss: at the end of a task's own batches, and where its next ones begin", "",
               cln_norms, runs.tasks(), [&](const std::string& norm, const Task& task) {
                 for (const int seed : runs.document.seeds()) {
                   const auto [before, after] =
                       kept_of(runs.document.folder(runs.training(norm, seed)), task, runs.o.epochs);
                   table(task.name, norm, "before", seed) = finite(before);
                   table(task.name, norm, "after", seed) = finite(after);
                   rises(task.name, norm, seed) = finite(after - before);
                 }
                 const auto text = [&](const char* when) {
                   return defined_text(table.values({{"task", task.name}, {"norm", norm}, {"when", when}}),
                                       size_t(runs.o.seeds), 3);
                 };
                 return formatted("{} → {}", text("before"), text("after"));
               });
  report.csv(table);
  report.judge_by(rises, {1, 3, "of loss"});
}

}  // namespace

ClnOptions::ClnOptions() {
  data = shipped("data/mini");
  tasks = "sst,quora,sts";
  out = "runs/conditional_layer_norm";
  record = 100;
  seeds = 6, epochs = 4, limit = 0;         // as make demo: with fewer rows SST stays below word counts
}

std::vector<Item> cln_items(Document& document, const ClnOptions& options) {
  const ClnRuns runs{document, options};
  const auto all = [runs] { return runs.all(); };
  const auto item = [&](const char* name, const auto& show) {
    return Item{name, all, [runs, show](ItemReport& report) { show(runs, report); }};
  };
  return together({{item("train", train_item),
                    {"test", both(yardstick_runs(document, document.tasks()), all), std::bind_front(test_item, runs)},
                    item("gains", gains_item),
                    item("epochs", epochs_item),
                    item("forgetting", forgetting_item),
                    switch_item(runs),
                    learning_item(runs),
                    readings_item(runs)},
                   rate_items(runs)});
}

}  // namespace minbert
