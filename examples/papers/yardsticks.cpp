// The yardsticks of a document's tables.
#include <iostream>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/document.h"
#include "report/html.h"
#include "runs/yardsticks.h"

namespace minbert {
namespace {

// Their scores on the first dev set, by the leading metric.
Json yardstick_result(const DocumentOptions& o, const Task& task) {
  const Tokenizer tokenizer = Tokenizer::from_folder(model_folder(o.model));
  Task first = task;
  first.sets.resize(1);
  const auto all = yardsticks(o.data, first, tokenizer, o.dataset_options(o.max_length),
                              uint64_t(o.seed), std::cerr);
  Json scores = Json::object();
  for (size_t i = 0; i < all.size(); ++i)
    scores.set(yardstick_names[i], all[i][0] ? Json(*all[i][0]) : Json());
  return scores;
}

Run yardstick_run(Document& document, const Task& task) {
  return document.run_on(
      task, "yardsticks", 1, {{"seed", std::to_string(document.options().seed)}},
      [o = document.options(), task](const std::string&) { return yardstick_result(o, task); });
}

}  // namespace

std::function<std::vector<Run>()> yardstick_runs(Document& document,
                                                 const std::vector<Task>& tasks) {
  return RunGrid(std::bind_front(yardstick_run, std::ref(document)), tasks);
}

void show_yardsticks(Document& document, const std::vector<Task>& tasks, ItemReport& report,
                     const Unit& unit) {
  const auto score_text = [&](const std::string& row, const DevSet& set) {
    const auto score = document.result(yardstick_run(document, set.task))[row].number_if();
    return score ? fixed(unit.factor * *score, unit.digits) : "undefined";
  };
  report.table(formatted("Yardsticks{}: what needs no BERT", element(", in {}", unit.name)), "",
               yardstick_names, first_dev_sets(tasks), score_text);
}

void say_of_dev_scores(ItemReport& report) {
  report.differs("the best epoch and the best setting are chosen on the dev set on which they are "
                 "scored, as there");
  report.differs("an undefined score counts as 0");
}

}  // namespace minbert
