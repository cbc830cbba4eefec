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
    result.set(column_name(task, list[i]), i < scores.size() && scores[i] ? Json(*scores[i]) : Json());
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
  return std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
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
                    {.max_length = o.max_length, .pairs = Pairs::siamese, .limit = o.limit}, std::cerr);
  };
  Sets sets{read(Split::train, 0), {}, tokenizer.size()};
  for (size_t set = 0; set < task.sets.size(); ++set) sets.dev.push_back(read(Split::dev, set));
  return sets;
}

Run majority(Document& document, const Task& task) {
  Run run{"majority-" + task.name, document.inputs(task), {}, 0.1};
  run.options["yardstick"] = "majority";
  run.work = [o = document.options(), task](const std::string&) {
    const Sets sets = sets_of(o, task);
    TaskScores all;
    for (const Dataset& dev : sets.dev) {
      const std::vector<double> same(dev.examples.size(), most_likely(task, sets.train));
      std::vector<double> labels;
      for (const Example& e : dev.examples) labels.push_back(e.label);
      for (const std::optional<double>& score : scores(task, same, labels)) all.push_back(score);
    }
    return json_of(task, all);
  };
  return run;
}

Run word_counts(Document& document, const Task& task) {
  Run run{"words-" + task.name, document.inputs(task), {}, 1};
  run.options["yardstick"] = "words";
  run.options["seed"] = std::to_string(document.options().seed);
  run.work = [o = document.options(), task](const std::string&) {
    const Sets sets = sets_of(o, task);
    return json_of(task, bag_of_words(task, sets.train, sets.dev, sets.vocabulary, uint64_t(o.seed)).dev);
  };
  return run;
}

Run from_scratch(Document& document, const Task& task, TrainOptions o) {
  o.from_scratch = true;
  o.cls_norm = "none";
  o.seed = document.options().seed;
  return document.fine_tuning(task, o, "scratch-" + task.name);
}

}  // namespace

std::vector<Run> yardstick_runs(Document& document, const std::vector<Task>& tasks, const TrainOptions& o) {
  std::vector<Run> runs;
  for (const Task& task : tasks)
    for (const Run& run : {majority(document, task), word_counts(document, task), from_scratch(document, task, o)})
      runs.push_back(run);
  return runs;
}

void show_yardsticks(Document& document, const std::vector<Task>& tasks, const TrainOptions& o, ItemReport& report) {
  std::vector<std::string> columns = {""};
  std::vector<ItemReport::TableRow> rows = {{"majority class", {}}, {"word counts", {}}, {"from scratch", {}}};
  for (const Task& task : tasks) {
    const Measure first = measures(task)[0];
    columns.push_back(formatted("{} ({})", task.title, metric_name(first.metric)));
    size_t row = 0;
    for (const Run& run : {majority(document, task), word_counts(document, task), from_scratch(document, task, o)}) {
      const Json score = document.study().result(run)[column_name(task, first)];
      rows[row++].cells.push_back(
          {"", score.is_null() ? "undefined" : formatted("{}", std::round(score.number() * 1e4) / 100)});
    }
  }
  report.table("Yardsticks, in percent: what needs no BERT, and what needs no pre-training", columns, rows);
}

}  // namespace minbert
