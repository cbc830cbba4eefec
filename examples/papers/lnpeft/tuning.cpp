// LN-PEFT's table of dev scores, the test between BitFit and LayerNorm, and what needs no training.
#include <algorithm>

#include "engine/text.h"
#include "minbert/device.h"
#include "papers/lnpeft/lnpeft.h"
#include "papers/statistics/kruskal_wallis.h"
#include "report/significance.h"
#include "train/cli/train_mode.h"

namespace minbert {

ItemReport::Cell LnPeftRuns::share(const LongTable& printed, const std::string& mode) const {
  const Task& task = tasks()[0];
  const Json result = document.result(tuning(task, settings({mode})[0], o.seed));
  const int64_t trained = result["trained"].integer(), all = result["parameters"].integer();
  ItemReport::Cell cell{"", fixed(100 * double(trained) / double(all), 3)};
  cell.note = formatted("{} of {} for {}", trained, all, task.title);
  for (const double v : printed.values({{"set", "share"}, {"mode", mode}})) cell.printed = fixed(v, 3);
  return cell;
}

namespace {

// [LN-PEFT tab.2]
void tab2(const LnPeftRuns& runs, ItemReport& report) {
  const Document& document = runs.document;
  const std::vector<DevSet> sets = dev_sets(runs.tasks());
  LongTable all({"task", "mode", "lr", "seed", "epoch", "score"}),
      best({"task", "mode", "seed", "score"}), judged = best, evidence = best;
  const auto grid = runs.tunings(runs.modes());
  grid.each([&](const DevSet& set, const LnPeftSetting& s, int seed) {
    const Run run = grid.run(set, s, seed);
    all(set.key(), s.mode, s.lr, seed, document.result(run)["epoch"].integer()) =
        document.score(run, set).value_or(0);
  });
  const auto add_best = [&](const DevSet& set, const std::string& mode) {
    const LnPeftSetting setting = runs.best(set.task, mode);
    add_points(best, runs.scores(set, setting), runs.o.seed, set.key(), mode);
    add_scores(judged, evidence, runs.scores(set, setting, runs.judging()), runs.o.seed, set.key(), mode);
  };
  product(add_best, sets, runs.modes());
  report.csv(all);
  report.csv(best, "best");
  report.csv(judged, "judged");
  report.when("several rates", runs.chooses());
  report.judge_by(evidence, {100, 2, "points"});
  const auto best_cell = [&](const std::string& mode, const DevSet& set) {
    const LnPeftSetting setting = runs.best(set.task, mode);
    ItemReport::Cell cell = runs.scores(set, setting);
    const Summary summary = summarize(cell.points);
    cell.ours = formatted("{} ({})", fixed(summary.mean, 4), fixed(summary.deviation, 4));
    cell.note = formatted("lr {}", setting.lr);
    for (const double v :
         report.printed().values({{"set", "dev"}, {"task", set.key()}, {"mode", mode}})) {
      cell.printed = fixed(v, 4);
      cell.printed_point = v;
    }
    return cell;
  };
  Names columns = {"mean (std)", "% of full"};
  for (const DevSet& set : sets) columns.push_back(set.title);
  std::vector<ItemReport::TableRow> rows;
  for (const std::string& mode : runs.modes()) {
    rows.push_back({mode, {runs.share(report.printed(), mode)}});
    for (const DevSet& set : sets) rows.back().cells.push_back(best_cell(mode, set));
  }
  report.table("Dev scores of the best epoch at the best rate by the mean over the seeds", columns,
               rows);
  show_yardsticks(runs.document, runs.tasks(), report, {1, 4}, runs.chooses() ? 0.5 : 1);
  say_of_dev_scores(report);
}

const Names score_sets = {"dev", "test", "dev and test"};

// The printed scores of one of score_sets
Numbers printed_scores(const LongTable& printed, const std::string& wanted, const std::string& mode) {
  Numbers all;
  for (const char* set : {"dev", "test"})
    if (wanted.find(set) != wanted.npos)
      for (const double v : printed.values({{"set", set}, {"mode", mode}})) all.push_back(v);
  return all;
}
KruskalWallis printed_test(const LongTable& printed, const std::string& set) {
  return kruskal_wallis(printed_scores(printed, set, trained::bitfit),
                        printed_scores(printed, set, trained::layer_norm));
}
// Task by task: BitFit's score less LayerNorm's
Numbers printed_differences(const LongTable& printed, const std::string& set) {
  Numbers differences = printed_scores(printed, set, trained::bitfit);
  const Numbers norm = printed_scores(printed, set, trained::layer_norm);
  for (size_t i = 0; i < norm.size(); ++i) differences[i] -= norm[i];
  return differences;
}

// New tensors are on the CPU while it lives.
struct OnCpu {
  OnCpu() { set_default_device(Device::cpu); }
  ~OnCpu() { set_default_device(before); }
  Device before = default_device();
};

// How many parameters each mode trains in the document's model: no weights, no data.
Run facts_run() {
  return {"facts", {{"model", "BERT-large-cased"}}, [](const std::string&) {
            BertConfig config = BertConfig::named("large");
            config.vocab_size = 28996;
            config.tasks = {"rte"};
            const OnCpu without_gpu;                // 1.3 GB, whose values nobody reads
            Model model(config, 0, false, heads_of(parse_tasks("rte")), 0);
            Json result = Json::object();
            for (const std::string& mode : LnPeftRuns::modes()) {
              set_trained(model.parameters, mode, 0);
              result.set(mode, model.parameters.trainable());
            }
            return result;
          }};
}

// The tests between BitFit and LayerNorm of the printed scores: the document's, and ours, which is paired by the
// tasks. Of both sets together ours is not valid, since dev and test of one task are not independent.
void printed_tests(const LongTable& printed, LongTable& table, ItemReport& report) {
  std::map<Names, Numbers> by_model;                // of the two sets of MNLI, which one model answers, the mean
  for (const LongTable::Row& row : printed.rows()) {
    const std::string set = row.keys[0], task = row.keys[1], mode = row.keys[2];
    if (mode == "p" || !row.value) continue;
    table(set, mode, task) = row.value;
    by_model[{set + " by model", mode, task.starts_with("mnli") ? "mnli" : task}].push_back(*row.value);
  }
  for (const auto& [keys, scores] : by_model) table.add(keys, summarize(scores).mean);
  std::vector<ItemReport::TableRow> rows;
  for (const std::string& set : score_sets) {
    const Numbers d = printed_differences(printed, set);
    const auto above = std::ranges::count_if(d, [](double x) { return x > 0; });
    const double p = printed_test(printed, set).p;
    table("p", set, "") = p;
    rows.push_back({set, {{"", fixed(p, 5)}, {"", "not independent"}, {"", formatted("{} of {}", above, d.size())},
                          {"", fixed(100 * summarize(d).mean, 2)}}});
    for (const double v : printed.values({{"set", set}, {"mode", "p"}})) rows.back().cells[0].printed = fixed(v, 5);
    if (set == "dev and test") continue;
    table("p paired", set, "") = sign_flip_p(d);
    rows.back().cells[1].ours = fixed(sign_flip_p(d), 3);
  }
  report.table("BitFit and LayerNorm, by the printed scores",
               {"", "p of Kruskal-Wallis", "p of the sign-flip test, paired by set", "BitFit above LayerNorm",
                "mean difference, points"},
               rows);
}

// [LN-PEFT sec.3.1]
void facts(const LongTable& printed, const Json& result, ItemReport& report) {
  LongTable table({"what", "of", "task", "value"});
  for (const std::string& mode : LnPeftRuns::modes()) table("parameters", mode, "") = result[mode].number();
  report.table("BERT-large-cased with two labels", "trained", LnPeftRuns::modes(), Names{"parameters", "% of all"},
               [&](const std::string& mode, const std::string& column) {
                 const double trained = result[mode].number(), all = result[trained::full_model].number();
                 return column == "parameters" ? fixed(trained, 0) : fixed(100 * trained / all, 3);
               });
  printed_tests(printed, table, report);
  report.csv(table);
  report.judge_by(table, {100, 2, "points"});
}

// [LN-PEFT sec.3.1]
void sec31(const LnPeftRuns& runs, ItemReport& report) {
  report.when("several rates", runs.chooses());
  const auto means = [&](const std::string& mode) {
    Numbers all;
    for (const DevSet& set : dev_sets(runs.tasks()))
      all.push_back(summarize(runs.scores(set, runs.best(set.task, mode), runs.judging()).points).mean);
    return all;
  };
  LongTable table({"source", "set", "H", "p"});
  report.table("p of the Kruskal-Wallis test between BitFit and LayerNorm", "",
               Names{"the printed tables", "our means over the seeds"}, score_sets,
               [&](const std::string& row, const std::string& set) -> ItemReport::Cell {
                 const bool theirs = row == "the printed tables";
                 if (!theirs && set != "dev")
                   return {"", "the labels of the test sets are not public"};
                 const KruskalWallis test =
                     theirs ? printed_test(report.printed(), set)
                            : kruskal_wallis(means(trained::bitfit), means(trained::layer_norm));
                 table(theirs ? "printed tables" : "ours", set, float_text(test.H)) = test.p;
                 ItemReport::Cell cell{"", fixed(test.p, 5)};
                 for (const double p : report.printed().values({{"set", set}, {"mode", "p"}}))
                   if (theirs) cell.printed = fixed(p, 5);
                 return cell;
               });
  report.csv(table);
  report.caption(formatted("ours from {} values a group", dev_sets(runs.tasks()).size()));
}

}  // namespace

std::vector<Item> lnpeft_tuning_items(const LnPeftRuns& runs) {
  return {
      {"tab2", both(yardstick_runs(runs.document, runs.tasks()), runs.tunings(runs.modes())),
       std::bind_front(tab2, runs)},
      {"sec3.1", runs.tunings({trained::bitfit, trained::layer_norm}),
       std::bind_front(sec31, runs)},
      {"facts", [] { return std::vector{facts_run()}; },
       [=](ItemReport& report) {
         facts(runs.document.printed("sec3.1"), runs.document.result(facts_run()), report);
       }}};
}

}  // namespace minbert
