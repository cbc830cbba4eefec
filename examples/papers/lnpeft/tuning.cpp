// LN-PEFT's table of dev scores, and the test between BitFit and LayerNorm.
#include <algorithm>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/kruskal_wallis.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

std::string title_of_mode(const LnPeftRuns& runs, const std::string& mode) {
  const Task& task = runs.document().tasks()[0];
  const Json result = runs.result(runs.tuning(task, mode, runs.rates(mode)[0], runs.options().seed));
  const int64_t trained = result["trained"].integer(), all = result["parameters"].integer();
  return formatted("{}: {} of {} parameters ({} %) for {}", mode, trained, all,
                   fixed(100 * double(trained) / double(all), 3), task.title);
}

TrainOptions full_model(const LnPeftRuns& runs) {
  return runs.train_options(trained::full_model, runs.rates(trained::full_model)[0], runs.options().seed);
}

// [LN-PEFT tab.2]
void tab2(const LnPeftRuns& runs, ItemReport& report) {
  LongTable all({"task", "mode", "lr", "seed", "epoch", "score"}), best({"task", "mode", "seed", "score"});
  std::vector<std::string> columns = {"mean (std)"};
  std::vector<ItemReport::TableRow> rows;
  for (const std::string& mode : runs.modes()) rows.push_back({mode, {}});
  for (const Task& task : runs.document().tasks())
    for (size_t set = 0; set < task.sets.size(); ++set) {
      columns.push_back(formatted("{} ({})", title_of(task, task.sets[set]), metric_name(task.metrics[0])));
      const std::string name = set_name(task, task.sets[set]);
      for (ItemReport::TableRow& row : rows) {
        const std::string& mode = row.head;
        for (const double lr : runs.rates(mode))
          for (const int seed : runs.seeds()) {
            const Run run = runs.tuning(task, mode, lr, seed);
            all.add({name, mode, formatted("{}", lr), std::to_string(seed),
                     std::to_string(runs.result(run)["epoch"].integer())}, runs.score(task, run, set));
          }
        const double lr = runs.best_rate(task, mode);
        const std::vector<double> scores = runs.scores(task, mode, lr, set);
        for (size_t i = 0; i < scores.size(); ++i) best.add({name, mode, std::to_string(runs.seeds()[i])}, scores[i]);
        const Summary summary = summarize(scores);
        ItemReport::Cell cell{"", formatted("{} ({})", fixed(summary.mean, 4), fixed(summary.deviation, 4)), scores};
        cell.note = formatted("lr {}", lr);
        for (const int seed : runs.seeds())
          if (!runs.result(runs.tuning(task, mode, lr, seed))["warnings"].string().empty())
            cell.warning = "a seed predicts the same for every input";
        for (const double v : report.printed().values({{"set", "dev"}, {"task", name}, {"mode", mode}})) {
          cell.printed = fixed(v, 4);
          cell.printed_point = v;
        }
        row.cells.push_back(cell);
      }
    }
  for (ItemReport::TableRow& row : rows) row.head = title_of_mode(runs, row.head);
  report.csv(std::move(all));
  report.csv(best, "best");
  report.judge_by(best);
  report.table("Dev scores of the best epoch at the best rate by the mean over the seeds", columns, rows);
  show_yardsticks(runs.document(), runs.document().tasks(), full_model(runs), report);
  report.caption(formatted("{}, {}; batch 16, linear schedule", counted(runs.options().seeds, "seed"),
                           counted(runs.options().epochs, "epoch")));
  report.differs("the best epoch and the best rate are chosen on the dev set on which they are scored, as there");
  report.differs("the document says neither batch size nor schedule nor seeds; these are ours");
  report.differs("an undefined score counts as 0");
}

// [LN-PEFT sec.3.1]
void sec31(const LnPeftRuns& runs, ItemReport& report) {
  LongTable table({"source", "set", "H", "p"});
  ItemReport::TableRow printed{"the printed tables", {}}, ours{"our means over the seeds", {}};
  std::vector<double> bitfit, norm;
  for (const char* set : {"dev", "test", "dev and test"}) {
    const auto values = [&](const std::string& mode) {
      std::vector<double> all;
      for (const char* part : {"dev", "test"})
        if (std::string(set).find(part) != std::string::npos)
          for (const double v : report.printed().values({{"set", part}, {"mode", mode}})) all.push_back(v);
      return all;
    };
    const KruskalWallis test = kruskal_wallis(values(trained::bitfit), values(trained::layer_norm));
    table.add({"printed tables", set, exact(test.H)}, test.p);
    ItemReport::Cell cell{"", fixed(test.p, 5)};
    for (const double p : report.printed().values({{"set", set}, {"mode", "p"}})) cell.printed = fixed(p, 5);
    printed.cells.push_back(cell);
  }
  for (const Task& task : runs.document().tasks())
    for (size_t set = 0; set < task.sets.size(); ++set) {
      const auto mean = [&](const std::string& mode) {
        return summarize(runs.scores(task, mode, runs.best_rate(task, mode), set)).mean;
      };
      bitfit.push_back(mean(trained::bitfit));
      norm.push_back(mean(trained::layer_norm));
    }
  const KruskalWallis test = kruskal_wallis(bitfit, norm);
  table.add({"ours", "dev", exact(test.H)}, test.p);
  ours.cells.push_back({"", fixed(test.p, 5)});
  for (int i = 0; i < 2; ++i) ours.cells.push_back({"", "the labels of the test sets are not public"});
  report.csv(std::move(table));
  report.table("p of the Kruskal-Wallis test between BitFit and LayerNorm", {"", "dev", "test", "dev and test"},
               {printed, ours});
  report.caption(formatted("ties corrected; ours from {} values a group", bitfit.size()));
}

}  // namespace

std::vector<Item> lnpeft_tuning_items(const SharedRuns& runs) {
  const auto all = [runs] {
    std::vector<Run> list = yardstick_runs(runs->document(), runs->document().tasks(), full_model(*runs));
    for (Run& run : runs->tunings(runs->modes())) list.push_back(std::move(run));
    return list;
  };
  const auto two = [runs] { return runs->tunings({trained::bitfit, trained::layer_norm}); };
  return {{"tab2", "Dev scores of full fine-tuning, BitFit, LayerNorm and a random part", all,
           [=](ItemReport& r) { tab2(*runs, r); }},
          {"sec3.1", "The Kruskal-Wallis test", two, [=](ItemReport& r) { sec31(*runs, r); }}};
}

}  // namespace minbert
