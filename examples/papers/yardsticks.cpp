// Scores that need no pre-training, beside which others mean something.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "minbert/metrics.h"
#include "papers/bag_of_words.h"
#include "papers/document.h"

namespace minbert {
namespace {

Json json_of(const Task& task, const TaskScores& scores) {
  Json result = Json::object();
  const std::vector<Measure> list = measures(task);
  for (size_t i = 0; i < list.size(); ++i)
    result.set(column_name(task, list[i]),
               i < scores.size() && scores[i] ? Json(*scores[i]) : Json());
  return result;
}

// The most frequent label; of a similarity the mean.
double most_likely(const Task& task, const Dataset& train) {
  std::map<double, int> count;
  double mean = 0;
  for (const Example& e : train.examples) {
    ++count[e.label];
    mean += e.label / double(train.examples.size());
  }
  if (task.kind == TaskKind::regression) return mean;
  return std::max_element(count.begin(), count.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

struct Sets {
  Dataset train;
  std::vector<Dataset> dev;
  int vocabulary;
};
Sets sets_of(const DocumentOptions& o, const Task& task) {
  const Tokenizer tokenizer = Tokenizer::from_folder(model_folder(o.model));
  const auto read = [&](Split split, size_t set) {
    return read_set(o.data, task, split, set, tokenizer,
                    {.max_length = o.max_length, .pairs = Pairs::siamese, .limit = o.limit},
                    std::cerr);
  };
  Sets sets{read(Split::train, 0), {}, tokenizer.size()};
  for (size_t set = 0; set < task.sets.size(); ++set) sets.dev.push_back(read(Split::dev, set));
  return sets;
}

// The three yardsticks of a task.
struct Yardstick {
  const char* title;
  Run run;
};
std::vector<Yardstick> yardsticks(Document& document, const Task& task, TrainOptions scratch) {
  const DocumentOptions& o = document.options();
  const auto majority = [o, task](const std::string&) {
    const Sets sets = sets_of(o, task);
    TaskScores all;
    for (const Dataset& dev : sets.dev) {
      Predictions same;
      same.values.assign(dev.examples.size(), most_likely(task, sets.train));
      for (const std::optional<double>& score : scores(task, dev, same)) all.push_back(score);
    }
    return json_of(task, all);
  };
  const auto words = [o, task](const std::string&) {
    const Sets sets = sets_of(o, task);
    return json_of(task,
                   bag_of_words(task, sets.train, sets.dev, sets.vocabulary, uint64_t(o.seed)).dev);
  };
  scratch.from_scratch = true;
  scratch.cls_norm = "none";
  scratch.seed = o.seed;
  return {{"majority class",
           document.run_on(task, "majority", 0.1, {{"yardstick", "majority"}}, majority)},
          {"word counts",
           document.run_on(task, "words", 1,
                           {{"yardstick", "words"}, {"seed", std::to_string(o.seed)}}, words)},
          {"from scratch", document.fine_tuning(task, scratch, "scratch-" + task.name)}};
}

}  // namespace

std::function<std::vector<Run>()> yardstick_runs(Document& document, const std::vector<Task>& tasks,
                                                 const TrainOptions& o) {
  return [&document, tasks, o] {
    std::vector<Run> runs;
    for (const Task& task : tasks)
      for (const Yardstick& yardstick : yardsticks(document, task, o))
        runs.push_back(yardstick.run);
    return runs;
  };
}

void show_yardsticks(Document& document, const std::vector<Task>& tasks, const TrainOptions& o,
                     ItemReport& report) {
  report.table("Yardsticks, in percent: what needs no BERT, and what needs no pre-training", "",
               yardsticks(document, tasks.at(0), o), first_dev_sets(tasks),
               [&](const Yardstick& row, const DevSet& set) -> std::string {
                 for (const Yardstick& yardstick : yardsticks(document, set.task, o))
                   if (yardstick.title == std::string(row.title))
                     if (const auto score = document.score(yardstick.run, set))
                       return formatted("{}", std::round(*score * 1e4) / 100);
                 return "undefined";
               });
}

}  // namespace minbert
