// Dev scores: of a run, of a half of the rows, beside others and beside what needs no BERT.
#pragma once

#include "minbert/trainer.h"
#include "report/item_report.h"
#include "runs/study.h"

namespace minbert {

class Document;

// A dev set on which a task is scored, by its leading metric: MNLI has two.
struct DevSet {
  Task task;
  Measure measure;
  std::string title;                                // "MRPC (F1)"
  std::string key() const { return set_name(task, measure.set); }
};
std::vector<DevSet> dev_sets(const std::vector<Task>& tasks, bool metric_in_title = true);
std::vector<DevSet> first_dev_sets(const std::vector<Task>& tasks);

// Rows of a dev set: all, those at even positions (0, 2, ...), or the others. What was chosen by the scores
// on one half is judged by those on the other.
enum class DevRows { all, first_half, second_half };

// What a run keeps of a model's predictions for a task's dev sets: for every measure a score (null: undefined) by its
// column name, the same of the "first half" and of the "second half", and "warnings" of predictions that are all equal.
Json dev_scores(const Task& task, std::span<const Dataset> sets, const SetPredictions& predictions);
// One of them; none: undefined. sound: none also where every input gets the same answer, since such a score does not
// compare methods.
std::optional<double> dev_score(const Json& scores, const DevSet& set, DevRows rows = DevRows::all);
std::optional<double> sound_dev_score(const Json& scores, const DevSet& set, DevRows rows = DevRows::all);

// A row for each seed, the last of the keys: the points of Document::scores.
template <class... Keys>
void add_points(LongTable& table, const ItemReport::Cell& cell, int first_seed, const Keys&... keys) {
  for (size_t i = 0; i < cell.points.size(); ++i) table(keys..., first_seed + int(i)) = cell.points[i];
}
// The same, and for verdicts the sound ones.
template <class... Keys>
void add_scores(LongTable& table, LongTable& evidence, const ItemReport::Cell& cell, int first_seed,
                const Keys&... keys) {
  add_points(table, cell, first_seed, keys...);
  for (size_t i = 0; i < cell.sound.size(); ++i) evidence(keys..., first_seed + int(i)) = cell.sound[i];
}

// The mean difference of each method to "none" on each set, as a verdict on it would count the seeds,
// with p of the exact sign-flip test. sound: sound scores; column: that of the methods; the report's
// unit: percent.
void show_differences(ItemReport& report, const LongTable& sound, const std::string& column,
                      const Names& methods, const std::vector<DevSet>& sets);

// What dev scores are held against: the majority class of the training set (or its mean), and word
// counts. show_yardsticks shows them in this unit, and hands the better one of each set, with its
// standard error, to the verdicts, in the unit of the values that judge_by was given before. These values
// are of a share of the dev rows (judging), of `most` rows at the most.
std::function<std::vector<Run>()> yardstick_runs(Document& document,
                                                 const std::vector<Task>& tasks);
void show_yardsticks(Document& document, const std::vector<Task>& tasks, ItemReport& report,
                     const Unit& unit = {100, 2, "percent"}, double judging = 1,
                     size_t most = SIZE_MAX);
void say_of_dev_scores(ItemReport& report);       // how those of Document::scores are chosen

}  // namespace minbert
