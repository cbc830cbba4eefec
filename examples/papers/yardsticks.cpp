// The yardsticks of a document's tables.
#include <cmath>
#include <iostream>
#include <sstream>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/document.h"
#include "report/html.h"
#include "runs/yardsticks.h"

namespace minbert {
namespace {

// Of each dev set its examples, and the scores by the leading metric: {"mrpc": {"examples": 408, "word counts": .7}}
Json yardstick_result(const DocumentOptions& o, const Task& task) {
  const Tokenizer tokenizer = Tokenizer::from_folder(model_folder(o.model));
  const DatasetOptions options = o.dataset_options(o.max_length);
  const auto all = yardsticks(o.data, task, tokenizer, options, uint64_t(o.seed), std::cerr);
  Json result = Json::object();
  for (size_t set = 0; set < task.sets.size(); ++set) {
    std::ostringstream said_before;                 // of rows that are skipped
    const Dataset dev = read_set(o.data, task, Split::dev, set, tokenizer, options, said_before);
    Json of_set = Json::object({{"examples", int64_t(dev.examples.size())}});
    for (size_t i = 0; i < all.size(); ++i) {
      const auto score = all[i][set * task.metrics.size()];
      of_set.set(yardstick_names[i], score ? Json(*score) : Json());
    }
    result.set(set_name(task, task.sets[set]), of_set);
  }
  return result;
}

Run yardstick_run(Document& document, const Task& task) {
  Run run = document.run_on(
      task, "yardsticks", 1,
      {{"seed", std::to_string(document.options().seed)}, {"metric", name_of(task.metrics[0])}},
      [o = document.options(), task](const std::string&) { return yardstick_result(o, task); });
  run.version = 2;                                  // 2: of every dev set
  return run;
}

// Of a score of n examples
double standard_error(Metric metric, double score, double n) {
  const bool share = metric == Metric::accuracy || metric == Metric::f1;
  return share ? std::sqrt(score * (1 - score) / n) : (1 - score * score) / std::sqrt(n - 1);
}

}  // namespace

std::function<std::vector<Run>()> yardstick_runs(Document& document,
                                                 const std::vector<Task>& tasks) {
  return RunGrid(std::bind_front(yardstick_run, std::ref(document)), tasks);
}

void show_yardsticks(Document& document, const std::vector<Task>& tasks, ItemReport& report,
                     const Unit& unit, double judging, size_t most) {
  const auto of_set = [&](const DevSet& set) {
    return document.result(yardstick_run(document, set.task))[set.key()];
  };
  const auto score_text = [&](const std::string& row, const DevSet& set) {
    const auto score = of_set(set)[row].number_if();
    return score ? fixed(unit.factor * *score, unit.digits) : "undefined";
  };
  report.table(formatted("Yardsticks{}: what needs no BERT", element(", in {}", unit.name)), "",
               yardstick_names, dev_sets(tasks), score_text);
  LongTable best({"task", "what", "value"});
  const double in_unit = 100 / report.evidence()->unit.factor;   // whose differences are shown in points of 100
  for (const DevSet& set : dev_sets(tasks)) {
    const Json scores = of_set(set);
    double score = 0;                               // also where it is undefined
    for (const std::string& name : yardstick_names) score = std::max(score, scores[name].number_if().value_or(0));
    const double error =
        standard_error(set.measure.metric, score, judging * std::min(scores["examples"].number(), double(most)));
    Names keys = {set.key()};                       // and of a task's first set, which leads, the task
    if (set.key() != set.task.name && set.key() == first_dev_sets({set.task})[0].key()) keys.push_back(set.task.name);
    for (const std::string& key : keys) best(key, "score") = in_unit * score, best(key, "error") = in_unit * error;
  }
  report.yardsticks(best);
}

}  // namespace minbert
