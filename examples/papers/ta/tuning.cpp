// The tables of dev scores: fine-tuning with each method.
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/ta/task_adaptation.h"

namespace minbert {
namespace {

constexpr size_t seeds_of_tab2 = 3;

// A dev set on which a method is scored: MNLI has two.
struct DevSet {
  Task task;
  Measure measure;
  std::string key() const { return set_name(task, measure.set); }
  std::string title() const { return title_of(task, measure.set); }
};

// What the document's claims are judged by: the scores on the sets of its own table. The best epochs of two methods
// need not be the same, so they are no key.
LongTable without_epochs(const LongTable& scores, const LongTable& printed) {
  LongTable table({"task", "method", "seed", "score"});
  for (const LongTable::Row& row : scores.rows())
    if (!printed.only({{"task", row.of[0]}}).rows().empty()) table.add({row.of[0], row.of[1], row.of[2]}, row.value);
  return table;
}

class TuningItems {
 public:
  TuningItems(Document& document, const TaskAdaptationOptions& options) : document_(document), o_(options) {}
  std::vector<Run> table_runs(bool tab2) const;
  std::vector<Run> eps_runs() const;
  void table(ItemReport& report, bool tab2) const;
  void eps_curves(ItemReport& report) const;

 private:
  std::vector<Task> tasks(bool tab2) const { return ta_tasks(document_, tab2); }
  std::vector<DevSet> dev_sets(bool tab2) const;
  std::vector<int> seeds(bool tab2) const;
  Run run_of(const Task& task, const TaMethod& method, int seed, double eps = ta_eps) const {
    return ta_fine_tuning(document_, o_, task, method, seed, eps);
  }
  ItemReport::Cell cell(const DevSet& set, const TaMethod& method, bool tab2, LongTable& all) const;
  void add_printed(ItemReport::Cell& cell, const LongTable& printed, int digits) const;
  std::string where_text() const {
    return o_.cls_norm_at == "pooled" ? "at h, behind the pooler's tanh" : "at h^l, before the pooler";
  }
  void compare(ItemReport& report, const std::vector<DevSet>& sets, const LongTable& all) const;
  Curve eps_curve(const Task& task, const TaMethod& method, LongTable& all) const;

  Document& document_;
  TaskAdaptationOptions o_;
};

std::vector<DevSet> TuningItems::dev_sets(bool tab2) const {
  std::vector<DevSet> all;
  for (const Task& task : tasks(tab2))
    for (const std::string& name : task.sets) all.push_back({task, {name, task.metrics[0]}});
  return all;
}

std::vector<int> TuningItems::seeds(bool tab2) const {
  std::vector<int> all = document_.seeds();
  if (tab2) all.resize(std::min(all.size(), seeds_of_tab2));
  return all;
}

std::vector<Run> TuningItems::table_runs(bool tab2) const {
  std::vector<Run> runs = yardstick_runs(document_, tasks(tab2), ta_options(o_));
  for (const int seed : seeds(tab2))
    for (const Task& task : tasks(tab2))
      for (const TaMethod& method : ta_methods) runs.push_back(run_of(task, method, seed));
  return runs;
}

std::vector<Run> TuningItems::eps_runs() const {
  std::vector<Run> runs;
  for (const int seed : seeds(false))
    for (const Task& task : tasks(false))
      for (size_t m = 0; m < 3; ++m)                // none, z, min-max
        for (const double eps : m == 0 ? std::vector<double>{ta_eps} : o_.eps)
          runs.push_back(run_of(task, ta_methods[m], seed, eps));
  return runs;
}

// mean±std / median / max, or of tab.2 median / max; adds every score to the table.
ItemReport::Cell TuningItems::cell(const DevSet& set, const TaMethod& method, bool tab2, LongTable& all) const {
  ItemReport::Cell cell;
  for (const int seed : seeds(tab2)) {
    const Json result = document_.study().result(run_of(set.task, method, seed));
    const std::optional<double> score = result[column_name(set.task, set.measure)].number_if();
    all.add({set.key(), method.name, std::to_string(seed), std::to_string(result["epoch"].integer())}, score);
    cell.points.push_back(100 * score.value_or(0));
    if (!result["warnings"].string().empty()) cell.warning = "a seed predicts the same for every input";
  }
  const Summary s = summarize(cell.points);
  const double highest = *std::ranges::max_element(cell.points);
  cell.ours = tab2 ? formatted("{} / {}", fixed(median(cell.points), 2), fixed(highest, 2))
                   : formatted("{}±{} / {} / {}", fixed(s.mean, 1), fixed(s.deviation, 1),
                               fixed(median(cell.points), 1), fixed(highest, 1));
  return cell;
}

void TuningItems::add_printed(ItemReport::Cell& cell, const LongTable& printed, int digits) const {
  for (const auto& [statistic, before] : {std::pair("mean", ""), {"deviation", "±"}, {"median", " / "}, {"max", " / "}})
    for (const double v : printed.values({{"statistic", statistic}})) {
      cell.printed += (cell.printed.empty() ? "" : before) + fixed(v, digits);
      if (std::string(statistic) == "median") cell.printed_point = v;
    }
}

// Each method against none, paired by seed.
void TuningItems::compare(ItemReport& report, const std::vector<DevSet>& sets, const LongTable& all) const {
  std::vector<std::string> columns = {"mean difference to none"};
  std::vector<ItemReport::TableRow> rows;
  for (size_t m = 1; m < ta_methods.size(); ++m) rows.push_back({ta_methods[m].name, {}});
  for (const DevSet& set : sets) {
    columns.push_back(set.title());
    const std::vector<double> plain = all.values({{"task", set.key()}, {"method", "none"}});
    for (ItemReport::TableRow& row : rows) {
      const std::vector<double> scores = all.values({{"task", set.key()}, {"method", row.head}});
      if (scores.size() != plain.size()) {
        row.cells.push_back({"", "undefined"});
        continue;
      }
      std::vector<double> differences;
      for (size_t i = 0; i < scores.size(); ++i) differences.push_back(100 * (scores[i] - plain[i]));
      row.cells.push_back({"", fixed(summarize(differences).mean, 2)});
      row.cells.back().note = formatted("p {} (least {})", fixed(sign_flip_p(differences), 3),
                                        fixed(least_sign_flip_p(differences.size()), 3));
    }
  }
  report.table("Over the seeds, in percent; p of the exact sign-flip test, paired by seed", columns, rows);
}

// [TA tab.1] [TA tab.2]
void TuningItems::table(ItemReport& report, bool tab2) const {
  LongTable all({"task", "method", "seed", "epoch", "score"});
  std::vector<std::string> columns = {tab2 ? "median / max" : "mean±std / median / max"};
  std::vector<ItemReport::TableRow> rows;
  for (const TaMethod& method : ta_methods) rows.push_back({method.name, {}});
  for (const DevSet& set : dev_sets(tab2)) {
    columns.push_back(formatted("{} ({})", set.title(), metric_name(set.measure.metric)));
    for (size_t m = 0; m < ta_methods.size(); ++m) {
      ItemReport::Cell c = cell(set, ta_methods[m], tab2, all);
      add_printed(c, report.printed().only({{"model", o_.large ? "BERT-large-wwm" : "BERT-base"},
                                             {"task", set.key()}, {"method", ta_methods[m].name}}),
                   tab2 ? 2 : 1);
      rows[m].cells.push_back(std::move(c));
    }
  }
  report.csv(all);
  report.judge_by(without_epochs(all, report.printed()));
  report.table("Dev scores in percent", columns, rows);
  compare(report, dev_sets(tab2), all);
  show_yardsticks(document_, tasks(tab2), ta_options(o_), report);
  report.caption(formatted("{}, {}, lr {}, batch {}, warm-up .06, weight decay .01, dropout .1; the methods stand {}",
                           counted(int(seeds(tab2).size()), "seed"), counted(o_.epochs, "epoch"), o_.lr, o_.batch,
                           where_text()));
  report.differs("the best epoch is chosen on the dev set on which it is scored, as there");
  report.differs("batch 32: the document takes what it does not name from BERT's pre-training, whose batch is 256; so "
                 "are the weight decay of .01 and the dropout of .1. It gives no ε: 1e-5 is ours");
  report.differs("the document does not name its metrics; MRPC's is F1 here, the others' accuracy (CoLA's: Matthews)");
  if (tab2) report.differs("the document has no gradient normalization here: those rows are ours");
  if (!tab2 && o_.large)
    report.differs("the document has no gradient normalization for BERT-large: those rows are ours");
  for (const DevSet& set : dev_sets(tab2))
    if (report.printed().only({{"task", set.key()}}).rows().empty())
      report.differs(set.title() + " is not in the document's table; no claim is judged by it");
  report.differs("an undefined score counts as 0 in means");
  report.differs("from scratch is one seed");
}

Curve TuningItems::eps_curve(const Task& task, const TaMethod& method, LongTable& all) const {
  Curve curve{.title = method.name, .style = Curve::Style::line_and_points};
  for (const double eps : o_.eps) {
    std::vector<double> points;
    for (const int seed : seeds(false)) {
      const bool plain = std::string(method.name) == "none";
      const Json result = document_.study().result(run_of(task, method, seed, plain ? ta_eps : eps));
      const std::optional<double> score = result[column_name(task, measures(task)[0])].number_if();
      points.push_back(100 * score.value_or(0));
      if (!plain || eps == o_.eps.front())
        all.add({task.name, method.name, plain ? "" : formatted("{}", eps), std::to_string(seed)}, score);
    }
    const Summary s = summarize(points);
    curve.x.push_back(eps);
    curve.y.push_back(s.mean);
    curve.deviation.push_back(s.deviation);
  }
  return curve;
}

// [TA sec.5.2]
void TuningItems::eps_curves(ItemReport& report) const {
  LongTable all({"task", "method", "eps", "seed", "score"});
  Figure figure{.title = "", .columns = 2};
  for (const Task& task : tasks(false)) {
    figure.panels.push_back({.title = formatted("{} ({})", task.title, metric_name(task.metrics[0])),
                             .x_label = "epsilon", .y_label = "dev score, %", .log_x = true});
    for (size_t m = 0; m < 3; ++m)
      figure.panels.back().curves.push_back(eps_curve(task, ta_methods[m], all));
  }
  report.csv(std::move(all));
  report.figure(figure, "For each task, the dev score over ε with Z and min-max normalization, mean and deviation over "
                        "the seeds, beside the score without a norm");
  report.caption("the methods stand " + where_text());
  report.differs("the document says that a more careful selection of ε can solve the problem, and shows nothing; the "
                 "curve, and that a larger ε is meant, are ours");
}

}  // namespace

std::vector<Item> ta_tuning_items(Document& document, const TaskAdaptationOptions& options) {
  const auto items = std::make_shared<TuningItems>(document, options);
  return {{"tab1", "Dev scores, of all tasks but MNLI and QNLI", [=] { return items->table_runs(false); },
           [=](ItemReport& r) { items->table(r, false); }},
          {"tab2", "Dev scores of MNLI and QNLI", [=] { return items->table_runs(true); },
           [=](ItemReport& r) { items->table(r, true); }},
          {"sec5.2", "The choice of epsilon", [=] { return items->eps_runs(); },
           [=](ItemReport& r) { items->eps_curves(r); }}};
}

}  // namespace minbert
