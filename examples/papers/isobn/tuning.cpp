// IsoBN's table of dev scores.
#include <cmath>

#include "engine/text.h"
#include "papers/isobn/isobn.h"

namespace minbert {
namespace {

const Names cls_norm_names = {"none", "batch", "iso-bn"};

struct Setting {
  std::string norm;
  double lr, batch, beta;
};

// Divided by N.
double deviation_of(const Numbers& values) {
  const double mean = summarize(values).mean;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean) / double(values.size());
  return std::sqrt(squares);
}

struct Tuning {
  Document& document;
  IsoBnOptions o;

  std::vector<Setting> settings(const std::string& norm) const {
    std::vector<Setting> all;
    const Numbers betas = norm == "iso-bn" ? o.beta : Numbers{0};
    const auto add_setting = [&](double lr, double batch, double beta) {
      all.push_back({norm, lr, batch, beta});
    };
    product(add_setting, o.lr, o.batch, betas);
    return all;
  }
  std::vector<Setting> all_settings() const {
    std::vector<Setting> all;
    for (const std::string& norm : cls_norm_names)
      for (const Setting& s : settings(norm)) all.push_back(s);
    return all;
  }

  // [IsoBN sec.4.1]
  TrainOptions train_options(const Setting& s) const {
    TrainOptions t;
    t.cls_norm = s.norm == "iso-bn" ? formatted("iso-bn:beta={}", s.beta) : s.norm;
    if (s.norm != "none") t.cls_norm_at = o.cls_norm_at;
    t.lr = s.lr;
    t.batch = int(s.batch);
    t.epochs = o.epochs;
    t.warmup = 0.06;
    t.schedule = "linear";
    t.dropout = 0.1;
    return t;
  }

  auto grid() const {
    const auto run = [t = *this](const Task& task, const Setting& s, int seed) {
      TrainOptions options = t.train_options(s);
      options.seed = seed;
      std::string name = formatted("tab1-{}-{}-lr{}-b{}", task.name, s.norm, s.lr, s.batch);
      if (s.norm == "iso-bn") name += formatted("-beta{}", s.beta);
      return t.document.fine_tuning(task, options, formatted("{}-seed{}", name, seed));
    };
    return RunGrid(run, document.tasks(), all_settings(), document.seeds());
  }

  // The best setting of a norm by its median over the seeds.
  ItemReport::Cell best_of(const std::string& norm, const DevSet& set) const {
    ItemReport::Cell best;
    for (const Setting& s : settings(norm)) {
      std::vector<Run> runs;
      for (const int seed : document.seeds()) runs.push_back(grid().run(set.task, s, seed));
      ItemReport::Cell cell = document.scores(runs, set);
      if (!best.points.empty() && median(cell.points) <= median(best.points)) continue;
      cell.ours =
          formatted("{} ({})", fixed(median(cell.points), 2), fixed(deviation_of(cell.points), 2));
      cell.note = formatted("lr {}, batch {}{}", s.lr, s.batch,
                            norm == "iso-bn" ? formatted(", beta {}", s.beta) : "");
      best = cell;
    }
    return best;
  }
};

// [IsoBN tab.1]
void tab1(const Tuning& t, ItemReport& report) {
  Document& document = t.document;
  const std::vector<DevSet> sets = first_dev_sets(document.tasks());
  LongTable all({"task", "norm", "lr", "batch", "beta", "seed", "metric", "score"});
  t.grid().each([&](const Task& task, const Setting& s, int seed) {
    const Json result = document.result(t.grid().run(task, s, seed));
    for (const Measure& m : measures(task))
      all(task.name, s.norm, s.lr, s.batch, s.beta, seed, metric_key(m.metric)) =
          result[column_name(task, m)].number_if();
  });
  LongTable best({"task", "norm", "seed", "score"});
  const auto add_scores = [&](const DevSet& set, const std::string& norm) {
    for (int seed = t.o.seed; const double score : t.best_of(norm, set).points)
      best(set.key(), norm, seed++) = score;
  };
  product(add_scores, sets, cls_norm_names);
  report.csv(all);
  report.csv(best, "best");
  report.judge_by(best);
  const auto best_cell = [&](const std::string& norm, const DevSet& set) {
    ItemReport::Cell cell = t.best_of(norm, set);
    const LongTable printed = report.printed().only(
        {{"model", document.printed_model()}, {"task", set.task.name}, {"norm", norm}});
    for (const double v : printed.values({{"statistic", "median"}})) {
      cell.printed = fixed(v, 2);
      cell.printed_point = v;
    }
    for (const double v : printed.values({{"statistic", "deviation"}}))
      cell.printed += formatted(" ({})", v);
    return cell;
  };
  report.table("Dev scores in percent: the best setting of each norm by its median over the seeds",
               "median (std)", cls_norm_names, sets, best_cell);
  show_differences(report, best, "norm", {"batch", "iso-bn"}, sets);
  show_yardsticks(document, document.tasks(), report);
  report.caption(counted(t.o.seeds, "seed") + ", " + counted(t.o.epochs, "epoch"));
  report.differs("batch normalization of [CLS] is ours");
  report.differs("IsoBN chooses among as many settings more as there are betas");
  report.differs(
      "IsoBN's averages keep 95% a step and begin as the first batch's statistics, and eq.7 has "
      "its root: src/norm/cls/iso_bn.cpp says why; no weight decay");
}

}  // namespace

Item isobn_tuning_item(Document& document, const IsoBnOptions& options) {
  const Tuning t{document, options};
  return {"tab1", "Dev scores",
          both(yardstick_runs(document, document.tasks()), t.grid()),
          std::bind_front(tab1, t)};
}

}  // namespace minbert
