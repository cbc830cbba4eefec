// What the programs of the documents share: an item of a document (a table, a figure, a section) is
// its runs and what is shown of their results; all items are the parts of one report.
//
//   Document document(options, "isobn");             // all that is said of its items: data/papers/isobn.json
//   document.run({{"tab2", runs, show}, ...});
//
// OUT has ITEM.csv and ITEM.svg, report.json and report.html, and runs/, a folder for each run.
#pragma once

#include "minbert/metrics.h"
#include "minbert/trainer.h"
#include "papers/document_options.h"
#include "papers/grid.h"
#include "report/item_report.h"
#include "report/paper.h"
#include "runs/study.h"

namespace minbert {

struct Item {
  std::string name;
  std::function<std::vector<Run>()> runs;           // no run: the study has none of the item's tasks
  std::function<void(ItemReport&)> show;
  // Runs needed to decide `runs`; they are done first.
  std::function<std::vector<Run>()> before = [] { return std::vector<Run>(); };
};

// The labels of a task with classes.
inline std::vector<int32_t> classes_of(const Dataset& data, std::span<const int32_t> examples) {
  const Numbers values = labeled(data, examples).labels;
  return {values.begin(), values.end()};
}

inline std::vector<Item> together(const std::vector<std::vector<Item>>& lists) {
  std::vector<Item> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

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

class Document {
 public:
  // Error: a task's files are missing, and it was asked for; or no task has any.
  Document(const DocumentOptions& options, const std::string& file);
  // Runs what the chosen items need and writes the report, all items in the order of FILE.json. Returns
  // the exit status. Error for an item that does not exist: lists them.
  int run(std::vector<Item> items);
  Study& study() { return study_; }
  Json result(const Run& run) const { return study_.result(run); }
  // The dev score of a fine-tuning, on all rows or one half of them; none: undefined. sound_score: none
  // also for a model that gives every input the same answer, since its score does not compare methods.
  std::optional<double> score(const Run& run, const DevSet& set, DevRows rows = DevRows::all) const;
  std::optional<double> sound_score(const Run& run, const DevSet& set, DevRows rows = DevRows::all) const;
  // A cell with the scores of fine-tunings, times a factor, as its points; an undefined one counts
  // 0.
  ItemReport::Cell scores(const std::vector<Run>& runs, const DevSet& set, double factor = 100,
                          DevRows rows = DevRows::all) const;
  std::string folder(const Run& run) const { return study_.folder(run); }
  const std::vector<Task>& tasks() const { return tasks_; }
  const DocumentOptions& options() const { return options_; }
  std::vector<int> seeds() const;                 // seed, seed+1, ...
  // What is different from the document in every item: the model, where its sizes are not those of
  // the document's, data sets that are missing, and stand-ins for some.
  Names differences() const;
  // What the document prints for an item; no rows if it prints nothing.
  const LongTable& printed(const std::string& item) const { return paper_.item(item).printed; }
  // The document's model that ours is compared with, as in its printed numbers: "BERT-base".
  std::string printed_model() const { return model_of_document()["printed"].string(); }

  // What a run on this task depends on: the fingerprints of the model and of the task's files, and
  // how they are read.
  OptionValues inputs(const Task& task);
  // A run "KIND-TASK" that depends on the task's inputs and on these options.
  Run run_on(const Task& task, const std::string& kind, double cost,
             OptionValues options,
             std::function<Json(const std::string& folder)> work);
  // The same options with the model and the data of the document's; and for this task.
  TrainOptions on_data(TrainOptions o) const;
  TrainOptions on_task(const Task& task, TrainOptions o) const;
  // A run that trains with these options: what model and data hold counts, not their names. Its
  // weights go when its work is done.
  Run run_of(const TrainOptions& o, const std::vector<Task>& tasks, const std::string& name);
  // Fine-tuning; the result has for every measure a score (null: undefined), by its column name,
  // the same of the "first half" and the "second half" of the dev rows, and "warnings". o: see on_task.
  Run fine_tuning(const Task& task, TrainOptions o, const std::string& name);

 private:
  Json where_it_ran();
  Json model_of_document() const;
  Names model_differences() const;
  std::string command(const std::string& item) const;
  std::string extent() const;
  Json equations(const Names& tags) const;
  void say_differences(const PaperItem& about, ItemReport& report) const;
  Json show(const Item& item);                    // runs done, or not asked for
  DocumentOptions options_;
  Paper paper_;
  Study study_;
  std::vector<Task> tasks_;
  bool generated_ = false;     // the data are those of data/mini
  Names missing_;              // titles of tasks without files
};

// A row for each seed, the last of the keys: the points of Document::scores, and for verdicts the
// sound ones.
template <class... Keys>
void add_scores(LongTable& table, LongTable& evidence, const ItemReport::Cell& cell, int first_seed,
                const Keys&... keys) {
  for (size_t i = 0; i < cell.points.size(); ++i) {
    table(keys..., first_seed + int(i)) = cell.points[i];
    evidence(keys..., first_seed + int(i)) = cell.sound[i];
  }
}

// The mean difference of each method to "none" on each set, as a verdict on it would count the seeds,
// with p of the exact sign-flip test. sound: sound scores; column: that of the methods; the report's
// unit: percent.
void show_differences(ItemReport& report, const LongTable& sound, const std::string& column,
                      const Names& methods, const std::vector<DevSet>& sets);

// The sentence of documents whose warm-up is that of src/nn/optimizer.cpp.
inline const std::string warm_up_text =
    "step k = 0, 1, ... of a warm-up of w steps has (k+1)/(w+1) of the rate; that of Hugging Face's "
    "trainer k/w, so that its first step learns nothing";

// What dev scores are held against: the majority class of the training set (or its mean), and word
// counts. show_yardsticks shows them in this unit, and hands the better one of each set, with its
// standard error, to the verdicts, in the unit of the values that judge_by was given before. judging: the
// share of the dev rows that these values are of.
std::function<std::vector<Run>()> yardstick_runs(Document& document,
                                                 const std::vector<Task>& tasks);
void show_yardsticks(Document& document, const std::vector<Task>& tasks, ItemReport& report,
                     const Unit& unit = {100, 2, "percent"}, double judging = 1);
void say_of_dev_scores(ItemReport& report);       // how those of Document::scores are chosen

}  // namespace minbert
