// IsoBN's table of dev scores.
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/isobn/isobn.h"

namespace minbert {
namespace {

struct Setting {
  std::string norm;
  double lr, batch, beta;
};

// Divided by N.
double deviation_of(const std::vector<double>& values) {
  const double mean = summarize(values).mean;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean) / double(values.size());
  return std::sqrt(squares);
}

class TuningItems {
 public:
  TuningItems(Document& document, const IsoBnOptions& options) : document_(document), o_(options) {}
  std::vector<Run> runs() const;
  void tab1(ItemReport& report) const;

 private:
  std::vector<Setting> settings() const;
  TrainOptions train_options(const Setting& setting) const;
  Run fine_tuning(const Task& task, const Setting& setting, int seed) const;
  void over_seeds(ItemReport& report, const LongTable& best) const;
  // The best setting of a norm by its median over the seeds; adds every score to the tables.
  ItemReport::Cell best_of(const Task& task, const std::string& norm, LongTable& all, LongTable& best) const;

  Document& document_;
  IsoBnOptions o_;
};

std::vector<Setting> TuningItems::settings() const {
  std::vector<Setting> all;
  for (const double lr : o_.lr)
    for (const double batch : o_.batch) {
      for (const char* norm : {"none", "batch"}) all.push_back({norm, lr, batch, 0});
      for (const double beta : o_.beta) all.push_back({"iso-bn", lr, batch, beta});
    }
  return all;
}

// [IsoBN sec.4.1]
TrainOptions TuningItems::train_options(const Setting& s) const {
  TrainOptions o;
  o.cls_norm = s.norm == "iso-bn" ? formatted("iso-bn:beta={}", s.beta) : s.norm;
  if (s.norm != "none") o.cls_norm_at = o_.cls_norm_at;
  o.lr = s.lr;
  o.batch = int(s.batch);
  o.epochs = o_.epochs;
  o.warmup = 0.06;
  o.schedule = "linear";
  o.dropout = 0.1;
  return o;
}

Run TuningItems::fine_tuning(const Task& task, const Setting& s, int seed) const {
  TrainOptions o = train_options(s);
  o.seed = seed;
  std::string name = formatted("tab1-{}-{}-lr{}-b{}", task.name, s.norm, s.lr, s.batch);
  if (s.norm == "iso-bn") name += formatted("-beta{}", s.beta);
  return document_.fine_tuning(task, o, formatted("{}-seed{}", name, seed));
}

std::vector<Run> TuningItems::runs() const {
  std::vector<Run> runs = yardstick_runs(document_, document_.tasks(), train_options(settings().front()));
  for (const int seed : document_.seeds())
    for (const Task& task : document_.tasks())
      for (const Setting& setting : settings()) runs.push_back(fine_tuning(task, setting, seed));
  return runs;
}

ItemReport::Cell TuningItems::best_of(const Task& task, const std::string& norm, LongTable& all,
                                      LongTable& best) const {
  const std::vector<Measure> list = measures(task);
  ItemReport::Cell cell;
  for (const Setting& s : settings()) {
    if (s.norm != norm) continue;
    std::vector<double> scores;
    std::string warning;
    for (const int seed : document_.seeds()) {
      const Json result = document_.study().result(fine_tuning(task, s, seed));
      for (const Measure& m : list) {
        const Json score = result[column_name(task, m)];
        all.add({task.name, s.norm, formatted("{}", s.lr), formatted("{}", s.batch), formatted("{}", s.beta),
                 std::to_string(seed), metric_key(m.metric)},
                score.number_if());
      }
      const Json score = result[column_name(task, list[0])];
      scores.push_back(100 * score.number_if().value_or(0));
      if (!result["warnings"].string().empty()) warning = "a seed predicts the same for every input";
    }
    if (!cell.points.empty() && median(scores) <= median(cell.points)) continue;
    cell.ours = formatted("{} ({})", fixed(median(scores), 2), fixed(deviation_of(scores), 2));
    cell.points = scores;
    cell.note = formatted("lr {}, batch {}{}", s.lr, s.batch, norm == "iso-bn" ? formatted(", beta {}", s.beta) : "");
    cell.warning = warning;
  }
  for (size_t i = 0; i < cell.points.size(); ++i)
    best.add({task.name, norm, std::to_string(o_.seed + int(i))}, cell.points[i]);
  return cell;
}

// Mean, maximum and the paired test of each norm against none. Differences stand beside their grain: what one example
// of the dev set is worth.
void TuningItems::over_seeds(ItemReport& report, const LongTable& best) const {
  std::vector<std::string> columns = {"mean, maximum"};
  std::vector<ItemReport::TableRow> rows = {{"none", {}}, {"batch", {}}, {"iso-bn", {}}};
  for (const Task& task : document_.tasks()) {
    columns.push_back(task.title);
    const std::vector<double> plain = best.values({{"task", task.name}, {"norm", "none"}});
    const int64_t examples =
        document_.study().result(fine_tuning(task, settings().front(), o_.seed))["examples"].integer();
    for (ItemReport::TableRow& row : rows) {
      const std::vector<double> scores = best.values({{"task", task.name}, {"norm", row.head}});
      std::vector<double> differences;
      for (size_t i = 0; i < scores.size(); ++i) differences.push_back(scores[i] - plain[i]);
      ItemReport::Cell cell{"", formatted("{}, {}", fixed(summarize(scores).mean, 2),
                                          fixed(*std::max_element(scores.begin(), scores.end()), 2))};
      if (row.head != "none")
        cell.note = formatted("{} beside none, p {} (least {}); one example {}", fixed(summarize(differences).mean, 2),
                              fixed(sign_flip_p(differences), 3), fixed(least_sign_flip_p(differences.size()), 3),
                              fixed(100 / double(examples), 2));
      row.cells.push_back(cell);
    }
  }
  report.table("Over the seeds; p of the exact sign-flip test, paired by seed", columns, rows);
}

// [IsoBN tab.1]
void TuningItems::tab1(ItemReport& report) const {
  LongTable all({"task", "norm", "lr", "batch", "beta", "seed", "metric", "score"});
  LongTable best({"task", "norm", "seed", "score"});
  std::vector<std::string> columns = {"median (std)"};
  std::vector<ItemReport::TableRow> rows = {{"none", {}}, {"batch", {}}, {"iso-bn", {}}};
  for (const Task& task : document_.tasks()) {
    columns.push_back(formatted("{} ({})", task.title, metric_name(task.metrics[0])));
    for (ItemReport::TableRow& row : rows) {
      ItemReport::Cell cell = best_of(task, row.head, all, best);
      const LongTable printed = report.printed().only({{"model", document_.printed_model()}, {"task", task.name},
                                                       {"norm", row.head}});
      for (const double v : printed.values({{"statistic", "median"}})) {
        cell.printed = fixed(v, 2);
        cell.printed_point = v;
      }
      for (const double v : printed.values({{"statistic", "deviation"}})) cell.printed += formatted(" ({})", v);
      row.cells.push_back(cell);
    }
  }
  report.csv(std::move(all));
  report.csv(best, "best");
  report.judge_by(best);
  report.table("Dev scores in percent: the best setting of each norm by its median over the seeds", columns, rows);
  over_seeds(report, best);
  show_yardsticks(document_, document_.tasks(), train_options(settings().front()), report);
  report.caption(counted(o_.seeds, "seed") + ", " + counted(o_.epochs, "epoch"));
  report.differs("batch normalization of [CLS] is ours");
  report.differs("the best epoch and the best setting are chosen on the dev set on which they are scored, as there");
  report.differs("an undefined score counts as 0");
  report.differs("IsoBN chooses among as many settings more as there are betas");
  report.differs("IsoBN's averages keep 95% a step and begin as the first batch's statistics, and eq.7 has its root: "
                 "src/norm/cls/iso_bn.cpp says why; no weight decay");
  report.differs("from scratch is one seed");
}

}  // namespace

Item isobn_tuning_item(Document& document, const IsoBnOptions& options) {
  const auto items = std::make_shared<TuningItems>(document, options);
  return {"tab1", "Dev scores", [=] { return items->runs(); }, [=](ItemReport& report) { items->tab1(report); }};
}

}  // namespace minbert
