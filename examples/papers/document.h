// What the programs of the documents share: an item of a document (a table, a figure, a section) is
// its runs and what is shown of their results; all items are the parts of one report.
//
//   Document document(options, "isobn");             // all that is said of its items: data/papers/isobn.json
//   document.run({{"tab2", runs, show}, ...});
//
// OUT has ITEM.csv and ITEM.svg, report.json, report.html, measured.csv (report/measured.h), and runs/, a
// folder for each run.
#pragma once

#include <set>

#include "papers/dev_scores.h"
#include "papers/document_options.h"
#include "papers/grid.h"
#include "report/item_report.h"
#include "report/measured.h"
#include "report/paper.h"
#include "runs/study.h"

namespace minbert {

struct Item {
  std::string name;
  std::function<std::vector<Run>()> runs;           // no run: the study has none of the item's tasks
  std::function<void(ItemReport&)> show;
  // Runs needed to decide `runs`; they are done first.
  std::function<std::vector<Run>()> before = [] { return std::vector<Run>(); };
  bool by_name = false;                             // run only where it is asked for: its runs are many
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

class Document {
 public:
  // Error: a task's files are missing, and it was asked for; or no task has any.
  Document(const DocumentOptions& options, const std::string& file);
  // Runs what the chosen items need and writes the report, all items in the order of FILE.json. Returns
  // the exit status. Error for an item that does not exist: lists them.
  int run(std::vector<Item> items);
  Study& study() { return study_; }
  Json result(const Run& run) const { return study_.result(run); }
  // Those of a fine-tuning.
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
  // Fine-tuning; the result has dev_scores. o: see on_task.
  Run fine_tuning(const Task& task, TrainOptions o, const std::string& name);

 private:
  Json where_it_ran();
  Json model_of_document() const;
  Names model_differences() const;
  std::string command(const std::string& item) const;
  std::string where() const;
  std::string extent() const;
  Json equations(const Names& tags) const;
  void say_differences(const PaperItem& about, ItemReport& report) const;
  // runs done, or not asked for; what claims are judged by goes to `measured`
  Json show(const Item& item, std::vector<MeasuredItem>& measured);
  DocumentOptions options_;
  Paper paper_;
  Study study_;
  std::vector<Task> tasks_;
  bool generated_ = false;     // the data are those of data/mini
  bool pretrained_ = true;     // the model has a head of pre-training
  Names missing_;              // titles of tasks without files
  std::set<std::string> programs_;  // that did the runs, and on what
};

// main() of a document's program: its command line, with the options that all share; then its items.
//
//   IsoBnOptions o;
//   DocumentProgram program("isotropy", "isobn", o, argc, argv);
//   program.line.option("--lr", o.lr, "learning rates of tab1", Range{0});
//   return program.run({"tab2 fig4 --limit 0"}, [&] { return Grids{paper, quick}; }, [&](Document& document) {
//     return isobn_cls_items(document, o);
//   });
class DocumentProgram {
 public:
  // file: data/papers/FILE.json. o: with the document's own defaults; it must outlive the program.
  DocumentProgram(const std::string& program, const std::string& file, DocumentOptions& o, int argc, char** argv);
  // Arguments of --help's examples; what else it says of the items; the grids, once the command line is read (also the
  // place for errors of its options); the items. Returns the exit status.
  int run(const Names& examples, const std::string& more, const std::function<Grids()>& grids,
          const std::function<std::vector<Item>(Document&)>& items);
  CommandLine line;

 private:
  std::string program_;
  Paper paper_;
  DocumentOptions& options_;
  int argc_;
  char** argv_;
};

// The sentence of documents whose warm-up is that of src/nn/optimizer.cpp.
inline const std::string warm_up_text =
    "step k = 0, 1, ... of a warm-up of w steps has (k+1)/(w+1) of the rate; that of Hugging Face's "
    "trainer k/w, so that its first step learns nothing";

}  // namespace minbert
