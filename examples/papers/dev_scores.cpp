// Dev scores, and their differences.
#include "papers/dev_scores.h"

#include <sstream>

#include "engine/text.h"
#include "report/significance.h"

namespace minbert {
namespace {

Json json_of_scores(const Task& task, const TaskScores& scores) {
  const std::vector<Measure> list = measures(task);
  MB_CHECK(scores.size() == list.size(), "{}: {} scores of {}", task.name, scores.size(), list.size());
  Json all = Json::object();
  for (size_t i = 0; i < list.size(); ++i)
    all.set(column_name(task, list[i]), scores[i] ? Json(*scores[i]) : Json());
  return all;
}

const char* half_name(DevRows rows) { return rows == DevRows::first_half ? "first half" : "second half"; }

// Scores on a half of each of a task's dev sets, by their column names
Json scores_of_half(DevRows rows, const Task& task, std::span<const Dataset> sets, const SetPredictions& predictions) {
  TaskScores all;
  for (size_t set = 0; set < sets.size(); ++set) {
    Numbers predicted, labels;
    for (size_t i = rows == DevRows::first_half ? 0 : 1; i < sets[set].examples.size(); i += 2) {
      predicted.push_back(predictions[set].values[i]);
      labels.push_back(sets[set].examples[i].label);
    }
    const TaskScores of_set = labels.empty() ? TaskScores(task.metrics.size()) : scores(task, predicted, labels);
    all.insert(all.end(), of_set.begin(), of_set.end());
  }
  return json_of_scores(task, all);
}

}  // namespace

Json dev_scores(const Task& task, std::span<const Dataset> sets, const SetPredictions& predictions) {
  std::ostringstream warnings;
  Json all = json_of_scores(task, scores(task, sets, predictions, &warnings));
  for (const DevRows half : {DevRows::first_half, DevRows::second_half})
    all.set(half_name(half), scores_of_half(half, task, sets, predictions));
  return all.set("warnings", warnings.str());
}

std::optional<double> dev_score(const Json& scores, const DevSet& set, DevRows rows) {
  return (rows == DevRows::all ? scores : scores[half_name(rows)])[column_name(set.task, set.measure)].number_if();
}
std::optional<double> sound_dev_score(const Json& scores, const DevSet& set, DevRows rows) {
  return scores["warnings"].string().empty() ? dev_score(scores, set, rows) : std::nullopt;
}

std::vector<DevSet> dev_sets(const std::vector<Task>& tasks, bool metric_in_title) {
  std::vector<DevSet> all;
  for (const Task& task : tasks)
    for (const std::string& set : task.sets) {
      all.push_back({task, {set, task.metrics[0]}, title_of(task, set)});
      if (metric_in_title) all.back().title += formatted(" ({})", metric_name(task.metrics[0]));
    }
  return all;
}

std::vector<DevSet> first_dev_sets(const std::vector<Task>& tasks) {
  std::vector<DevSet> all = dev_sets(tasks);
  std::erase_if(all, [](const DevSet& set) { return set.measure.set != set.task.sets[0]; });
  return all;
}

void show_differences(ItemReport& report, const LongTable& sound, const std::string& column,
                      const Names& methods, const std::vector<DevSet>& sets) {
  const Unit unit = report.evidence()->unit;
  const auto difference = [&](const std::string& method, const DevSet& set) -> ItemReport::Cell {
    const LongTable::Where with = {{"task", set.key()}, {column, method}},
                           without = {{"task", set.key()}, {column, "none"}};
    const Verdict verdict = judge({.more = with, .less = without}, {sound, unit});
    const Numbers& pairs = verdict.pairs;
    if (pairs.empty()) return {.printed = "", .ours = "undefined", .note = verdict.why};
    return {.printed = "",
            .ours = fixed(summarize(pairs).mean, unit.digits),
            .note = formatted("p {} (least {})", fixed(sign_flip_p(pairs), 3),
                              fixed(least_sign_flip_p(pairs.size()), 3))};
  };
  report.table("Over the seeds, x 100; p of the exact sign-flip test, paired by seed",
               "mean difference to none", methods, sets, difference);
}

void say_of_dev_scores(ItemReport& report) {
  report.differs("the best epoch is chosen on the dev rows on which it is scored, as there");
  report.differs("an undefined score counts as 0");
}

}  // namespace minbert
