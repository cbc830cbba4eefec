// What the programs of the documents share: an item of a document (a table, a figure, a section) is
// its runs and what is shown of their results; all items are the parts of one report.
//
//   Document document(options, "isobn");             // its printed numbers: data/papers/isobn.json
//   document.run({{"tab2", "Explained variance", runs, show}, ...});
//
// OUT has ITEM.csv and ITEM.svg, report.json and report.html, and runs/, a folder for each run.
#pragma once

#include "minbert/metrics.h"
#include "minbert/trainer.h"
#include "papers/document_options.h"
#include "papers/grid.h"
#include "report/item_report.h"
#include "runs/study.h"

namespace minbert {

struct Item {
  std::string name, title;
  std::function<std::vector<Run>()> runs;           // none: no task that it is about is there
  std::function<void(ItemReport&)> show;
  // Runs whose results say which the runs above are; they are done before
  std::function<std::vector<Run>()> before = [] { return std::vector<Run>(); };
};

// A dev set on which a task is scored, by its leading metric: MNLI has two.
struct DevSet {
  Task task;
  Measure measure;
  std::string title;                                // "MRPC (F1)"
  std::string key() const { return set_name(task, measure.set); }
};
std::vector<DevSet> dev_sets(const std::vector<Task>& tasks, bool metric_in_title = true);
std::vector<DevSet> first_dev_sets(const std::vector<Task>& tasks);

class Document {
 public:
  // Error: a task's files are missing, and it was asked for; or no task has any.
  Document(const DocumentOptions& options, const std::string& file);
  // Runs what the chosen items need and writes the report. Returns the exit status. Error for an
  // item that does not exist: lists them.
  int run(const std::vector<Item>& items);
  Study& study() { return study_; }
  Json result(const Run& run) const { return study_.result(run); }
  // What a fine-tuning scores; none: undefined. sound_score has none, too, where the model gives every
  // input the same answer: its score says nothing of what it was compared for.
  std::optional<double> score(const Run& run, const DevSet& set) const;
  std::optional<double> sound_score(const Run& run, const DevSet& set) const;
  // A cell with the scores of fine-tunings, times a factor, as its points; an undefined one counts
  // 0.
  ItemReport::Cell scores(const std::vector<Run>& runs, const DevSet& set,
                          double factor = 100) const;
  std::string folder(const Run& run) const { return study_.folder(run); }
  const std::vector<Task>& tasks() const { return tasks_; }
  const DocumentOptions& options() const { return options_; }
  std::vector<int> seeds() const;                 // seed, seed+1, ...
  // What is different from the document in every item: the model, where its sizes are not those of
  // the document's, data sets that are missing, and stand-ins for some.
  Names differences() const;
  // What the document prints for an item; no rows if it prints nothing.
  LongTable printed(const std::string& item) const;
  // The document's model that ours stands for, as its table of printed numbers names it.
  std::string printed_model() const { return model_of_document()["printed"].string(); }

  // What a run on this task depends on: the fingerprints of the model and of the task's files, and
  // how they are read.
  OptionValues inputs(const Task& task);
  // A run "KIND-TASK" that depends on the task's inputs and on these options.
  Run run_on(const Task& task, const std::string& kind, double cost,
             OptionValues options,
             std::function<Json(const std::string& folder)> work);
  // The same options for this task, with the model and the data of the document's.
  TrainOptions on_task(const Task& task, TrainOptions o) const;
  // A run that trains with these options: what model and data hold counts, not their names. Its
  // weights go when its work is done.
  Run run_of(const TrainOptions& o, const std::vector<Task>& tasks, const std::string& name);
  // Fine-tuning; the result has for every measure a score (null: undefined), by its column name,
  // and "warnings". o: see on_task.
  Run fine_tuning(const Task& task, TrainOptions o, const std::string& name);

 private:
  Json where_it_ran();
  Json model_of_document() const;
  Names model_differences() const;
  std::string command(const std::string& item) const;
  std::string extent() const;
  Json equations(const Json& references) const;
  Json show(const Item& item);                    // runs done, or not asked for
  DocumentOptions options_;
  Json paper_;
  Study study_;
  std::vector<Task> tasks_;
  Names missing_;              // titles of tasks without files
};

// The mean difference of each method to "none" on each set, as a verdict on it would count the seeds,
// with p of the exact sign-flip test. sound: sound scores; column: that of the methods; the report's
// unit: percent.
void show_differences(ItemReport& report, const LongTable& sound, const std::string& column,
                      const Names& methods, const std::vector<DevSet>& sets);

// What is said where a document's warm-up is ours, src/nn/optimizer.cpp's
inline const std::string warm_up_text =
    "step k = 0, 1, ... of a warm-up of w steps has (k+1)/(w+1) of the rate; that of Hugging Face's "
    "trainer k/w, so that its first step learns nothing";

// What dev scores are held against: the majority class of the training set (or its mean), and word
// counts.
std::function<std::vector<Run>()> yardstick_runs(Document& document,
                                                 const std::vector<Task>& tasks);
void show_yardsticks(Document& document, const std::vector<Task>& tasks, ItemReport& report,
                     const Unit& unit = {100, 2, "percent"});
void say_of_dev_scores(ItemReport& report);       // how those of Document::scores are chosen

}  // namespace minbert
