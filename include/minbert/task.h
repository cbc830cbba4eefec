// Tasks: their table, and the files of each.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "minbert/json.h"

namespace minbert {

// Their losses: cross-entropy, binary cross-entropy, MSE [CLN losses]
enum class TaskKind { classification, binary, regression };
enum class Metric { accuracy, matthews, f1, pearson, spearman };   // src/tasks/metrics.cpp
enum class Split { train, dev, test };

const char* metric_name(Metric metric);            // "accuracy", "F1", "Pearson", ...

// How its files are written; src/tasks/tsv.h says how they are read.
struct TsvFormat {
  // false: a quote is never special (GLUE)
  bool quoting = true;
  // The names of the columns, if the first line has none (CoLA)
  std::vector<std::string> names = {};
  // Between fields; 0: the first line tells whether TAB, comma or semicolon
  char separator = '\t';
  // As Financial PhraseBank: a file that is not UTF-8 is ISO-8859-1, and of too many fields the
  // first ones are one text, which has the separator in it
  bool sentences = false;
};

// The names of a task's files.
struct TaskFiles {
  std::string train;
  // One for each of the task's sets
  std::vector<std::string> dev;
  // The same; they may be missing
  std::vector<std::string> test = {};

  std::vector<std::string> all() const;     // those of training first
};

struct Task {
  // "sst", as in --tasks
  std::string name = {};
  // "SST", as in tables
  std::string title = {};
  TaskKind kind = TaskKind::classification;
  // The least and the largest label: whole numbers except for a regression. Not read where there
  // are label_words: then they are 0 to size-1.
  double low = 0;
  double high = 1;
  // The first one chooses the epoch
  std::vector<Metric> metrics = {Metric::accuracy};
  // Its dev and test sets: one, or several named "m", "mm"
  std::vector<std::string> sets = {""};
  // One, or two for a pair
  std::vector<std::string> text_columns = {};
  std::string label_column = "label";
  // "": rows are numbered from 0, as in GLUE
  std::string id_column = {};
  // In the data folder
  TaskFiles files = {};
  // Where one file is train and dev: one row in so many is dev
  int dev_part = 10;
  // "sst": see write_predictions
  std::string prediction_stem = {};
  // "Predicted_Sentiment"
  std::string prediction_column = {};
  TsvFormat format = {};
  // The names of class 0, 1, ..., for in_words
  std::vector<std::string> class_names = {};
  // The files' words for label 0, 1, ...; or none
  std::vector<std::string> label_words = {};
  // The weight of its loss, beside those of other tasks; above 0
  double loss_weight = 1;

  bool is_pair() const { return text_columns.size() == 2; }
  int classes() const { return label_words.empty() ? int(high) + 1 : int(label_words.size()); }
  // The outputs of the task's head
  int outputs() const { return kind == TaskKind::classification ? classes() : 1; }
  std::string label_text(double label) const;      // "entailment", "1", "3.25"
};

const std::vector<Task>& all_tasks();
std::string task_names();                          // "sst, quora, sts, ..."

// A label or a prediction in words: "very positive", "same question", "3.4 of 5" (clipped).
std::string in_words(const Task& task, double value);
// All its labels in words: of class 0, 1, ...; of a regression none.
std::vector<std::string> labels_of(const Task& task);

// A task as a file has it and config.json keeps it: its fields by their names, without those that
// are as in a new Task. Errors name file and field.
Json json_of(const Task& task);
Task task_from(const Json& json);
// The task of a file in the folder `data`, or anywhere: tickets.json with the fields of a Task; or
// a table with a heading, tickets.tsv or .csv; or a folder with train.tsv and dev.tsv. What the
// file does not say follows from heading and rows (src/tasks/README.md, A task of one's own), and
// of a table stderr says what is assumed. Without a dev file one training row in dev_part is dev.
// Errors: no such file; fields that it cannot have; labels that no task can have.
Task read_task(const std::string& name, const std::string& data);
void check(const Task& task);          // Error where fields contradict each other

// "sst,quora,tickets.json" -> their tasks, in this order: of the table, of files by
// read_task(name, data), or of a model, `saved`. leading:
// "mrpc=accuracy,stsb=pearson", the metrics to put first. weights: "sst=2,sts=0.5", of their
// losses; 1 for the others. Errors: an unknown name (lists the valid ones), a name given twice, an
// empty list, a weight not above 0.
std::vector<Task> parse_tasks(std::string_view list, std::string_view leading = "",
                              std::string_view weights = "", const std::string& data = "",
                              const std::vector<Task>& saved = {});
// The tasks of the table with these names, in their order. source: for errors.
std::vector<Task> tasks_named(const std::vector<std::string>& names, const std::string& source);

// task.files with the folder's name.
TaskFiles files_in(const std::string& folder, const Task& task);
std::string data_file(const std::string& folder, const Task& task, Split split, size_t set = 0);

// The task's test file; if it is missing, one line in `log` says so.
std::optional<std::string> find_test_file(const std::string& folder, const Task& task, size_t set,
                                          std::ostream& log);

}  // namespace minbert
