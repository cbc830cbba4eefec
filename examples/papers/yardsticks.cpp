// Scores that need no BERT, beside which others mean something.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "minbert/metrics.h"
#include "papers/bag_of_words.h"
#include "papers/document.h"

namespace minbert {
namespace {

// The most frequent label; of a similarity the mean.
double most_likely(const Task& task, const Dataset& train) {
  std::map<double, int> count;
  double mean = 0;
  for (const Example& e : train.examples) {
    ++count[e.label];
    mean += e.label / double(train.examples.size());
  }
  if (task.kind == TaskKind::regression) return mean;
  return std::ranges::max_element(count, {}, [](const auto& c) { return c.second; })->first;
}

const Names yardsticks = {"majority class", "word counts"};

// Their scores on the first dev set, by the leading metric.
Json measure(const DocumentOptions& o, const Task& task) {
  const Tokenizer tokenizer = Tokenizer::from_folder(model_folder(o.model));
  const auto read = [&](Split split) {
    return read_set(o.data, task, split, 0, tokenizer,
                    {.max_length = o.max_length, .pairs = Pairs::siamese, .limit = o.limit},
                    std::cerr);
  };
  const Dataset train = read(Split::train), dev = read(Split::dev);
  Predictions same;
  same.values.assign(dev.examples.size(), most_likely(task, train));
  const TaskScores words =
      bag_of_words(task, train, {dev}, tokenizer.size(), uint64_t(o.seed)).dev;
  const auto json_of = [](const TaskScores& all) {
    return all.empty() || !all[0] ? Json() : Json(*all[0]);
  };
  return Json::object({{yardsticks[0], json_of(scores(task, dev, same))},
                       {yardsticks[1], json_of(words)}});
}

Run measured(Document& document, const Task& task) {
  return document.run_on(
      task, "yardsticks", 1, {{"seed", std::to_string(document.options().seed)}},
      [o = document.options(), task](const std::string&) { return measure(o, task); });
}

}  // namespace

std::function<std::vector<Run>()> yardstick_runs(Document& document,
                                                 const std::vector<Task>& tasks) {
  return RunGrid(std::bind_front(measured, std::ref(document)), tasks);
}

void show_yardsticks(Document& document, const std::vector<Task>& tasks, ItemReport& report) {
  const auto score_text = [&](const std::string& row, const DevSet& set) {
    const auto score = document.result(measured(document, set.task))[row].number_if();
    return score ? formatted("{}", std::round(*score * 1e4) / 100) : "undefined";
  };
  report.table("Yardsticks, in percent: what needs no BERT", "", yardsticks, first_dev_sets(tasks),
               score_text);
  report.differs("the best epoch and the best setting are chosen on the dev set on which they are "
                 "scored, as there");
  report.differs("an undefined score counts as 0");
}

}  // namespace minbert
