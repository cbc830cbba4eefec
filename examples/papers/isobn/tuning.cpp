// IsoBN's table of dev scores, and what it says of its first form's.
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "papers/isobn/isobn.h"
#include "papers/recorded.h"

namespace minbert {
namespace {

const Names cls_norm_names = {"none", "batch", "iso-bn"};

struct Setting {
  std::string norm;                                 // of cls_norm_names, or "eq5"
  double lr, batch, beta;                           // beta: of iso-bn, else 0
  std::string title() const { return norm == "iso-bn" ? formatted("iso-bn, beta {}", beta) : norm; }
};

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
    t.cls_norm = s.norm == "iso-bn" ? formatted("iso-bn:beta={}", s.beta)
                 : s.norm == "eq5"  ? "iso-bn:preset=eq5"
                                    : s.norm;
    if (s.norm != "none") t.cls_norm_at = o.cls_norm_at;
    t.lr = s.lr;
    t.batch = int(s.batch);
    t.epochs = o.epochs;
    t.warmup = 0.06;
    t.schedule = Schedule::linear;
    t.dropout = 0.1;
    return t;
  }

  // sec3.3's: the document's three strengths beside eq.5, at one rate and batch size
  std::vector<Setting> strengths() const {
    const double lr = o.lr[o.lr.size() / 2], batch = o.batch[0];
    std::vector<Setting> all = {{"none", lr, batch, 0}, {"eq5", lr, batch, 0}};
    for (const double beta : {0.25, 0.5, 1.0}) all.push_back({"iso-bn", lr, batch, beta});
    return all;
  }

  auto grid(const std::vector<Task>& tasks, const std::vector<Setting>& settings) const {
    const auto run = [t = *this](const Task& task, const Setting& s, int seed) {
      TrainOptions options = t.train_options(s);
      options.seed = seed;
      std::string name = formatted("tab1-{}-{}-lr{}-b{}", task.name, s.norm, s.lr, s.batch);
      if (s.norm == "iso-bn") name += formatted("-beta{}", s.beta);
      return t.document.fine_tuning(task, options, formatted("{}-seed{}", name, seed));
    };
    return RunGrid(run, tasks, settings, document.seeds());
  }
  auto grid() const { return grid(document.tasks(), all_settings()); }
  // One of tab1's settings of each norm
  Setting recorded(const std::string& norm) const {
    return {norm, o.lr[o.lr.size() / 2], o.batch[0], norm == "iso-bn" ? o.beta[0] : 0};
  }

  ItemReport::Cell scores(const Setting& s, const DevSet& set, DevRows rows = DevRows::all) const {
    std::vector<Run> runs;
    for (const int seed : document.seeds()) runs.push_back(grid().run(set.task, s, seed));
    ItemReport::Cell cell = document.scores(runs, set, 100, rows);
    cell.ours = formatted("{} ({})", fixed(median(cell.points), 2),
                          fixed(summarize(cell.points).deviation, 2));
    return cell;
  }
  // Is one of several settings chosen? Then by one half of the dev rows, and the other half judges.
  bool chooses() const { return all_settings().size() > cls_norm_names.size(); }
  // The best setting of a norm by its median over the seeds, on the rows that choose.
  Setting best_of(const std::string& norm, const DevSet& set) const {
    const auto median_of = [&](const Setting& s) { return median(scores(s, set, DevRows::first_half).points); };
    const std::vector<Setting> all = settings(norm);
    return all.size() == 1 ? all[0] : *std::ranges::max_element(all, {}, median_of);
  }
  ItemReport::Cell best_cell(const std::string& norm, const DevSet& set, DevRows rows = DevRows::all) const {
    const Setting s = best_of(norm, set);
    ItemReport::Cell cell = scores(s, set, rows);
    cell.note = formatted("lr {}, batch {}{}", s.lr, s.batch,
                          norm == "iso-bn" ? formatted(", beta {}", s.beta) : "");
    return cell;
  }
};

// [IsoBN sec.3.3]
void sec33(const Tuning& t, ItemReport& report) {
  LongTable table({"task", "classes", "norm", "beta", "seed", "score"}), evidence = table;
  std::string shares;
  const std::vector<Task> tasks = studied_tasks(t.document, t.o);
  const IsoBnOptions of_cls = with_place(t.o);
  const auto score_cell = [&](const Setting& s, const DevSet& set) {
    const auto largest =
        t.document.result(cls_run(t.document, of_cls, set.task))["largest_class"].number_if();
    const char* classes = largest.value_or(0) >= 0.6 ? "unbalanced" : "balanced";
    if (s.norm == "none" && largest) shares += formatted(" {} {}", set.title, fixed(*largest, 2));
    const ItemReport::Cell cell = t.scores(s, set);
    add_scores(table, evidence, cell, t.o.seed, set.key(), classes, s.norm, s.beta);
    return cell;
  };
  report.table("Dev scores x 100", "median (std)", t.strengths(), first_dev_sets(tasks), score_cell);
  report.csv(table);
  report.judge_by(evidence, {1, 2, "points"});
  show_yardsticks(t.document, tasks, report);
  report.caption("lr and batch of all: " + formatted("{}, {}", t.strengths()[0].lr, t.strengths()[0].batch));
  report.caption("the share of the largest class:" + shares);
  report.when("balanced classes", evidence.only({{"classes", "unbalanced"}}).rows().empty());
}

// ---- The table of dev scores

// Every score in tab1.csv; those of each norm's best setting in tab1-best.csv, and in tab1-judged.csv those
// of the rows that judge it, by which the claims are judged. Returns the best ones.
LongTable best_scores(const Tuning& t, const std::vector<DevSet>& sets, ItemReport& report) {
  LongTable all({"task", "norm", "lr", "batch", "beta", "seed", "metric", "score"});
  t.grid().each([&](const Task& task, const Setting& s, int seed) {
    const Json result = t.document.result(t.grid().run(task, s, seed));
    for (const Measure& m : measures(task))
      all(task.name, s.norm, s.lr, s.batch, s.beta, seed, name_of(m.metric)) =
          result[column_name(task, m)].number_if();
  });
  LongTable best({"task", "norm", "seed", "score"}), judged = best, evidence = best;
  const auto add_best = [&](const DevSet& set, const std::string& norm) {
    add_points(best, t.best_cell(norm, set), t.o.seed, set.key(), norm);
    const DevRows rows = t.chooses() ? DevRows::second_half : DevRows::all;
    add_scores(judged, evidence, t.best_cell(norm, set, rows), t.o.seed, set.key(), norm);
  };
  product(add_best, sets, cls_norm_names);
  report.csv(all);
  report.csv(best, "best");
  report.csv(judged, "judged");
  report.judge_by(evidence, {1, 2, "points"});
  report.when("several settings", t.chooses());
  return best;
}

// The mean over the sets of a norm's medians; NaN: there is no set, or one without a score.
double mean_median(const LongTable& scores, const std::string& norm, const std::vector<DevSet>& sets) {
  Numbers medians;
  for (const DevSet& set : sets)
    if (const Numbers all = scores.values({{"task", set.key()}, {"norm", norm}}); !all.empty())
      medians.push_back(median(all));
  return sets.empty() || medians.size() < sets.size() ? NAN : summarize(medians).mean;
}
std::string text_of(double value) { return std::isfinite(value) ? fixed(value, 2) : ""; }

// The printed median and deviation of a set, or of "average".
void add_printed(ItemReport::Cell& cell, const LongTable& printed, const std::string& norm,
                 const std::string& set) {
  const LongTable of_cell = printed.only({{"task", set}, {"norm", norm}});
  for (const double v : of_cell.values({{"statistic", "median"}})) {
    cell.printed = fixed(v, 2);
    if (!cell.points.empty()) cell.printed_point = v;
  }
  for (const double v : of_cell.values({{"statistic", "deviation"}}))
    cell.printed += formatted(" ({})", v);
}

// A column for each set, and one for the mean of their medians. The document's own is of seven sets;
// of fewer it is the mean of what it prints for them.
void score_table(const Tuning& t, const std::vector<DevSet>& sets, const LongTable& best,
                 const LongTable& printed, ItemReport& report) {
  const LongTable medians = printed.only({{"statistic", "median"}});
  Names columns = {"median (std)"}, norms = cls_norm_names;
  for (const DevSet& set : sets) columns.push_back(set.title);
  if (sets.size() > 1) columns.push_back("average");
  if (!printed.only({{"norm", "reported"}}).rows().empty()) norms.push_back("reported");
  std::vector<ItemReport::TableRow> rows;
  for (const std::string& norm : norms) {
    std::vector<ItemReport::Cell> cells;
    for (const DevSet& set : sets) {
      cells.push_back(norm == "reported" ? ItemReport::Cell() : t.best_cell(norm, set));
      add_printed(cells.back(), printed, norm, set.key());
    }
    if (sets.size() > 1) {
      cells.push_back({sets.size() == 7 ? "" : text_of(mean_median(medians, norm, sets)),
                       text_of(mean_median(best, norm, sets))});
      if (sets.size() == 7) add_printed(cells.back(), printed, norm, "average");
    }
    rows.push_back({norm, cells});
  }
  report.table("Dev scores x 100: the best setting of each norm by its median over the seeds",
               columns, rows);
}

// What the sizes of the sets have to do with the gain [IsoBN sec.4.2].
void gains_table(const std::vector<DevSet>& sets, const LongTable& best, const LongTable& printed,
                 ItemReport& report) {
  struct Sizes {
    std::string title;
    Names tasks;
  };
  const std::vector<Sizes> sizes = {{"the small sets", {"rte", "mrpc", "cola", "stsb"}},
                                    {"the large sets", {"mnli", "qnli", "sst2"}}};
  const auto gain = [&](const std::string& norm, const Sizes& size) {
    std::vector<DevSet> some = sets;
    std::erase_if(some, [&](const DevSet& set) {
      return std::ranges::count(size.tasks, set.task.name) == 0;
    });
    const auto above_none = [&](const LongTable& table) {
      return text_of(mean_median(table, norm, some) - mean_median(table, "none", some));
    };
    return ItemReport::Cell{above_none(printed.only({{"statistic", "median"}})), above_none(best)};
  };
  report.table("Gain over none in the median, averaged over the sets", "", Names{"batch", "iso-bn"},
               sizes, gain);
}

// [IsoBN tab.1]
void tab1(const Tuning& t, ItemReport& report) {
  Document& document = t.document;
  const std::vector<DevSet> sets = first_dev_sets(document.tasks());
  const LongTable printed = report.printed().only({{"model", document.printed_model()}}),
                  best = best_scores(t, sets, report);
  score_table(t, sets, best, printed, report);
  gains_table(sets, best, printed, report);
  if (t.o.judges()) show_differences(report, report.evidence()->values, "norm", {"batch", "iso-bn"}, sets);
  show_yardsticks(document, document.tasks(), report, {100, 2, "percent"}, t.chooses() ? 0.5 : 1);
  report.differs(warm_up_text);
}

// How isotropic [CLS] is while it is fine-tuned, and at the end [IsoBN learning]
void learning(const Tuning& t, ItemReport& report) {
  if (!was_recorded(t.document, report)) return;
  std::vector<RecordedRow> rows;
  for (const Task& task : t.document.tasks())
    for (const char* what : {"EV_1", "EV_3"})
      rows.push_back({{task.name, what}, task.title + " " + what, [&t, &task, what](const std::string& norm, int seed) {
        return RecordedRun(t.document, t.grid().run(task, t.recorded(norm), seed)).of("[CLS]", what);
      }});
  show_recorded(t.document, report, {.columns = {"task", "what"}, .of = "norm", .y_label = "EV_k of h in the batch",
                                     .text = "The share of h's variance along its first direction and along its "
                                             "first three, before the norm, while the model is fine-tuned",
                                     .methods = cls_norm_names}, rows);
}

}  // namespace

std::vector<Item> isobn_tuning_items(Document& document, const IsoBnOptions& options) {
  const Tuning t{document, options};
  const std::vector<Task> tasks = studied_tasks(document, options);
  return {{"sec3.3",
           both(RunGrid(std::bind_front(cls_run, std::ref(document), with_place(options)), tasks),
                both(yardstick_runs(document, tasks), t.grid(tasks, t.strengths()))),
           std::bind_front(sec33, t)},
          {"tab1", both(yardstick_runs(document, document.tasks()), t.grid()),
           std::bind_front(tab1, t)},
          {"learning", t.grid(document.tasks(), {t.recorded("none"), t.recorded("batch"), t.recorded("iso-bn")}),
           std::bind_front(learning, t)}};
}

}  // namespace minbert
