// Tasks: their table, reading their files, and the order in which several tasks share an epoch.
//
//   const std::vector<Task> tasks = parse_tasks("sst,quora,sts");
//   Dataset train = read_set(folder, tasks[0], Split::train, 0, tokenizer, {}, std::cerr);
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "minbert/sequence.h"
#include "minbert/tsv.h"

namespace minbert {

// ---- The table of tasks (src/tasks/task.cpp)

// Their losses: cross-entropy, binary cross-entropy, MSE [CLN losses]
enum class TaskKind { classification, binary, regression };
enum class Metric { accuracy, matthews, f1, pearson, spearman };   // src/tasks/metrics.cpp
enum class Split { train, dev, test };

const char* metric_name(Metric metric);            // "accuracy", "F1", "Pearson", ...
std::string metric_key(Metric metric);             // "accuracy", "f1", "pearson", ...

// One set of file names for a task's files in the data folder.
struct TaskFiles {
  std::string train;
  std::vector<std::string> dev, test = {};  // one for each of the task's sets; test may be missing
  std::string dev_rows = {};                // if dev is train: lists its dev rows; see load_dataset
  std::string warning = {};                 // printed with scores on these files
};

struct Task {
  std::string name;                   // "sst", as in --tasks
  std::string title;                  // "SST", as in tables
  TaskKind kind = TaskKind::classification;
  double low = 0, high = 1;           // range of the labels; whole numbers except for a regression
  std::vector<Metric> metrics = {Metric::accuracy};     // the first one chooses the epoch
  std::vector<std::string> sets = {""};    // its dev and test sets: one, or several named "m", "mm"
  std::vector<std::string> text_columns;           // one, or two for a pair
  std::string label_column = "label";
  std::string id_column = {};         // "": rows are numbered from 0, as in GLUE
  std::vector<std::string> row_columns = {};       // the columns of TaskFiles::dev_rows
  std::vector<TaskFiles> files;       // the first complete one is used
  // "sst", "Predicted_Sentiment": see write_predictions
  std::string prediction_stem, prediction_column = {};
  TsvFormat format = {};
  std::vector<std::string> class_names = {};       // of class 0, 1, ..., for in_words
  std::vector<std::string> label_words = {};       // the files' words for label 0, 1, ...; or none
  double loss_weight = 1;             // of its loss, beside those of other tasks

  bool is_pair() const { return text_columns.size() == 2; }
  // The outputs of the task's head
  int outputs() const { return kind == TaskKind::classification ? int(high) + 1 : 1; }
  std::string label_text(double label) const;      // "entailment", "1", "3.25"
};

const std::vector<Task>& all_tasks();
std::string task_names();                          // "sst, quora, sts, ..."

// A label or a prediction in words: "very positive", "same question", "3.4 of 5" (clipped).
std::string in_words(const Task& task, double value);

// "sst,quora,sts" -> their tasks in the order of the table, that of [CLN loop], whatever the order
// of the list. leading: "mrpc=accuracy,stsb=pearson", the metrics to put first. weights:
// "sst=2,sts=0.5", of their losses; 1 for the others. Errors: an unknown name (lists the valid
// ones), a name given twice, an empty list, a weight not above 0.
std::vector<Task> parse_tasks(std::string_view list, std::string_view leading = "",
                              std::string_view weights = "");
// The same in the order of the names: a model's tasks; the t-th has task id t. source: for errors.
std::vector<Task> tasks_named(const std::vector<std::string>& names, const std::string& source);

// The first of task.files that is complete in the folder, or else the last, with the folder's name.
TaskFiles find_files(const std::string& folder, const Task& task);
std::string data_file(const std::string& folder, const Task& task, Split split, size_t set = 0);

// The task's test file; if it is missing, one line in `log` says so.
std::optional<std::string> find_test_file(const std::string& folder, const Task& task, size_t set,
                                          std::ostream& log);

// ---- Data sets (src/tasks/dataset.cpp)

enum class Pairs {
  cross,                                           // [CLS] a [SEP] b [SEP], one sequence
  siamese                                          // [CLS] a [SEP] and [CLS] b [SEP], encoded apart
};

struct Example {
  std::string id;
  double label = 0;                             // class, 0 or 1, or score; 0 if the file has none
  std::vector<Sequence> inputs;                 // one, or two for a siamese pair
  std::vector<std::string> texts = {};          // as in the file, for the first keep_texts examples
};

struct Dataset {
  std::string file;
  std::vector<Example> examples;
};

struct DatasetOptions {
  int max_length = 512;
  Pairs pairs = Pairs::cross;
  int64_t limit = 0;                            // reads the first so many valid rows; 0: all
  Split split = Split::train;                   // test: no labels, and rows with an empty text are
                                                // kept, since every id needs a prediction
  size_t keep_texts = 0;                        // examples whose texts are kept
  std::string dev_rows = {};                    // a file, see load_dataset
};

struct SkippedRow {
  int64_t line;                                    // the physical line on which it starts
  std::string what, expected;
};

struct LoadReport {
  std::string file;
  int64_t rows = 0;                         // read, skipped ones included
  std::vector<SkippedRow> skipped = {};
  int64_t unknown = 0;                      // rows of options.dev_rows that the file does not have
  int64_t truncated = 0;                    // examples that lost words to max_length
  int max_length = 0;

  // Lines to print: the first skipped rows in detail, then the totals; "" if there are none.
  std::string text() const;
};

// Reads a task's file. Rows that are ragged, or whose label is empty, unknown or out of range, are
// skipped and reported. If one file is both train and dev, the rows of options.dev_rows are dev
// (MRPC: a table of their #1 ID and #2 ID, with or without a header), or else a fifth of the rows
// (Financial PhraseBank), chosen by a random number of their text and the fixed seed 11711: every
// run has the same two sets, and no sentence is in both.
// Errors: no such file, a missing column, a quote that never closes, no valid row.
Dataset load_dataset(const Task& task, const std::string& file, const Tokenizer& tokenizer,
                     const DatasetOptions& options, LoadReport& report);

// One of the task's sets in the folder. `log` receives the report, and for a dev set the warning.
Dataset read_set(const std::string& folder, const Task& task, Split split, size_t set,
                 const Tokenizer& tokenizer, DatasetOptions options, std::ostream& log);

// An example without id and label from its texts, one or two, tokenized as in load_dataset.
// *truncated: was any cut?
Example make_example(const Task& task, std::span<const std::string> texts,
                     const Tokenizer& tokenizer, const DatasetOptions& options,
                     bool* truncated = nullptr);

// The sequences of some examples in order, for pack(): siamese pairs as u_0, v_0, u_1, v_1, ...
std::vector<Sequence> inputs(const Dataset& data, std::span<const int32_t> examples);

// The labels of some examples.
std::vector<double> labels(const Dataset& data, std::span<const int32_t> examples);

// ---- The order of an epoch (src/tasks/sampling.cpp)

enum class Sampling {
  sequential,                             // all of the first task, then the second, ... [CLN loop]
  round_robin,                            // a batch of each in turn, while it has any
  proportional                            // drawn in proportion to the batches that each has left
};

const std::vector<std::string>& sampling_names();  // in the enum's order
Sampling parse_sampling(const std::string& name);  // Error for any other name: lists these

struct TaskSize {
  std::string name;
  int64_t examples;
};

struct EpochOptions {
  Sampling sampling = Sampling::sequential;
  int batch = 8;
  bool shuffle = true;
  uint64_t seed = 11711;
};

struct TaskBatch {
  int task;                             // index into the list of tasks
  std::vector<int32_t> examples;        // of that task: `batch` of them, or fewer in its last batch
};

// All batches of one epoch: each example once. A pure function of its arguments, so that a run can
// resume at any batch; a task's own order depends on its name and not on the other tasks.
std::vector<TaskBatch> epoch_batches(std::span<const TaskSize> tasks, int epoch,
                                     const EpochOptions& options);

}  // namespace minbert
