// The tables of dev scores: fine-tuning with each method.
#include <algorithm>

#include "engine/text.h"
#include "papers/recorded.h"
#include "papers/ta/task_adaptation.h"

namespace minbert {
namespace {

const std::vector<TaMethod> eps_methods = {ta_methods[1], ta_methods[2]};          // z, min-max

std::vector<int> seeds_of(const TaRuns& ta, bool tab2) {
  std::vector<int> all = ta.document.seeds();
  if (tab2 && ta.o.grid == Grid::paper) all.resize(std::min<size_t>(all.size(), 3));
  return all;
}

auto table_grid(const TaRuns& ta, bool tab2) {
  const auto run = [ta](const DevSet& set, const TaMethod& method, int seed) {
    return ta.fine_tuning(set.task, method, seed);
  };
  return RunGrid(run, dev_sets(ta.tasks(tab2)), ta_methods, seeds_of(ta, tab2));
}

auto eps_grid(const TaRuns& ta) {
  const auto run = [ta](const Task& task, const TaMethod& method, double eps, int seed) {
    return ta.fine_tuning(task, method, seed, eps);
  };
  return RunGrid(run, ta.tasks(false), eps_methods, ta.o.eps, seeds_of(ta, false));
}
auto none_grid(const TaRuns& ta) {
  const auto run = [ta](const Task& task, int seed) { return ta.fine_tuning(task, ta_methods[0], seed); };
  return RunGrid(run, ta.tasks(false), seeds_of(ta, false));
}

// mean±std / median / max, or of tab.2 median / max, beside the printed ones.
ItemReport::Cell cell_of(const TaRuns& ta, const TaMethod& method, const DevSet& set,
                         bool tab2, const LongTable& all_printed) {
  std::vector<Run> runs;
  for (const int seed : seeds_of(ta, tab2)) runs.push_back(ta.fine_tuning(set.task, method, seed));
  ItemReport::Cell cell = ta.document.scores(runs, set);
  const Summary s = summarize(cell.points);
  const double highest = std::ranges::max(cell.points);
  cell.ours = tab2 ? formatted("{} / {}", fixed(median(cell.points), 2), fixed(highest, 2))
                   : formatted("{}±{} / {} / {}", fixed(s.mean, 1), fixed(s.deviation, 1),
                               fixed(median(cell.points), 1), fixed(highest, 1));
  const LongTable printed =
      all_printed.only({{"model", ta.o.large ? "BERT-large-wwm" : "BERT-base"},
                        {"task", set.key()},
                        {"method", method.title}});
  for (const auto& [statistic, before] :
       {std::pair("mean", ""), {"deviation", "±"}, {"median", " / "}, {"max", " / "}})
    for (const double v : printed.values({{"statistic", statistic}})) {
      cell.printed += (cell.printed.empty() ? "" : before) + fixed(v, tab2 ? 2 : 1);
      if (std::string(statistic) == "median") cell.printed_point = v;
    }
  return cell;
}

// [TA tab.1] [TA tab.2]
void table(const TaRuns& ta, ItemReport& report, bool tab2) {
  report.when("a large model", ta.o.large);
  const Document& document = ta.document;
  const std::vector<DevSet> sets = dev_sets(ta.tasks(tab2));
  const auto is_printed = [&](const DevSet& set) {
    return !report.printed().only({{"task", set.key()}}).rows().empty();
  };
  LongTable all({"task", "method", "seed", "epoch", "score"});
  // The best epochs of two methods need not be the same, so they are no key. The claims are judged by
  // the scores on the sets of the document's own table.
  LongTable sound({"task", "method", "seed", "score"}), evidence = sound;
  const auto grid = table_grid(ta, tab2);
  grid.each([&](const DevSet& set, const TaMethod& method, int seed) {
    const Run run = grid.run(set, method, seed);
    const auto score = document.score(run, set);
    all(set.key(), method.title, seed, document.result(run)["epoch"].integer()) = score;
    const auto sound_score = document.sound_score(run, set);
    sound(set.key(), method.title, seed) = sound_score;
    if (is_printed(set)) evidence(set.key(), method.title, seed) = sound_score;
  });
  report.csv(all);
  report.judge_by(evidence, {100, 2, "points"});
  report.table("Dev scores x 100", tab2 ? "median / max" : "mean±std / median / max",
               ta_methods, sets, [&](const TaMethod& method, const DevSet& set) {
                 return cell_of(ta, method, set, tab2, report.printed());
               });
  Names methods;
  for (const TaMethod& method : ta_methods)
    if (!method.is_none()) methods.push_back(method.title);
  if (ta.o.judges()) show_differences(report, sound, "method", methods, dev_sets(ta.tasks(tab2), false));
  show_yardsticks(ta.document, ta.tasks(tab2), report);
  say_of_dev_scores(report);
  report.caption(formatted(
      "{}, {}, lr {}, batch {}, warm-up .06; the methods stand {}",
      counted(int(seeds_of(ta, tab2).size()), "seed"), counted(ta.o.epochs, "epoch"), ta.o.lr,
      ta.o.batch, ta.where_text()));
  report.differs(warm_up_text);
  for (const DevSet& set : dev_sets(ta.tasks(tab2), false))
    if (!is_printed(set))
      report.differs(set.title + " is not in the document's table; no claim is judged by it");
}

// [TA sec.5.2]
void eps_curves(const TaRuns& ta, ItemReport& report) {
  LongTable all({"task", "method", "eps", "seed", "score"}), evidence = all;
  const auto draw_curves = [&](const DevSet& set) {
    const auto score = [&](const TaMethod& method, double eps, int seed) {
      const Run run = eps_grid(ta).run(set.task, method, eps, seed);
      const std::string of_norm = method.is_none() ? "" : formatted("{}", eps);
      evidence(set.task.name, method.title, of_norm, seed) = ta.document.sound_score(run, set);
      return (all(set.task.name, method.title, of_norm, seed) = ta.document.score(run, set)).value_or(0);
    };
    Numbers without;                                // of each seed
    for (const int seed : seeds_of(ta, false)) without.push_back(score(ta_methods[0], ta_eps, seed));
    Panel panel{.title = set.title, .x_label = "epsilon", .y_label = "score less none's, x 100", .log_x = true};
    for (const TaMethod& method : eps_methods) {
      Curve curve{.title = method.title, .style = Curve::Style::line_and_points};
      for (const double eps : ta.o.eps) {
        Numbers gains;
        for (size_t i = 0; const int seed : seeds_of(ta, false))
          gains.push_back(100 * (score(method, eps, seed) - without[i++]));
        add_mean(curve, eps, gains);
      }
      panel.curves.push_back(curve);
    }
    return panel;
  };
  report.figure(
      "For each task, the dev score over ε with Z and min-max normalization less that without a norm under the "
      "same seed, mean and deviation of these differences",
      first_dev_sets(ta.tasks(false)), draw_curves);
  report.csv(all);
  report.judge_by(evidence, {100, 2, "points"});
  show_yardsticks(ta.document, ta.tasks(false), report);
  report.caption("the methods stand " + ta.where_text());
}

// How much of h is saturated while the model is fine-tuned, and at the end [TA learning]
void learning(const TaRuns& ta, ItemReport& report) {
  if (!was_recorded(ta.document, report)) return;
  Names methods;
  for (const TaMethod& method : ta_methods) methods.push_back(method.title);
  std::vector<RecordedRow> rows;
  for (const Task& task : ta.tasks(false))
    rows.push_back({{task.name}, task.title, [=](const std::string& title, int seed) {
      const TaMethod& method = ta_methods[index_of(title, methods, "method")];
      return RecordedRun(ta.document, ta.fine_tuning(task, method, seed)).of("[CLS]", "small 1-h²");
    }});
  show_recorded(ta.document, report, {.columns = {"task"}, .of = "method", .y_label = "share of h with 1-h² < .1",
                                      .text = "The share of the numbers of h, after the pooler's tanh, where its slope "
                                              "1-h² is below .1, while the model is fine-tuned",
                                      .methods = methods}, rows);
  report.caption("the methods stand " + ta.where_text());
}

}  // namespace

std::vector<Item> ta_tuning_items(const TaRuns& ta) {
  const auto item = [&](bool tab2, const char* name) {
    return Item{name, both(yardstick_runs(ta.document, ta.tasks(tab2)), table_grid(ta, tab2)),
                [=](ItemReport& report) { table(ta, report, tab2); }};
  };
  return {item(false, "tab1"),
          item(true, "tab2"),
          {"sec5.2", both(yardstick_runs(ta.document, ta.tasks(false)), both(none_grid(ta), eps_grid(ta))),
           std::bind_front(eps_curves, ta)},
          {"learning", table_grid(ta, false), std::bind_front(learning, ta)}};
}

}  // namespace minbert
