// Data sets: reading the files of a task.
//
//   const std::vector<Task> tasks = parse_tasks("sst,quora,sts");
//   Dataset train = read_set(folder, tasks[0], Split::train, 0, tokenizer, {}, std::cerr);
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "minbert/config.h"
#include "minbert/task.h"
#include "minbert/tokenizer.h"

namespace minbert {

struct Example {
  std::string id;
  double label = 0;                             // class, 0 or 1, or score; 0 if the file has none
  std::vector<Sequence> inputs;                 // one, or two for a siamese pair
  std::vector<std::string> texts = {};          // as in the file, if they were to be kept
};

struct Dataset {
  std::string file;
  std::vector<Example> examples;
  int64_t skipped = 0;                          // rows of the file that cannot be used
};

struct DatasetOptions {
  // Tokens of a sequence; longer ones are cut
  int max_length = 512;
  Pairs pairs = Pairs::cross;
  // So many of the n valid rows, evenly spaced: rows i n / limit, rounded down; 0: all
  int64_t limit = 0;
  // test: no labels, and rows with an empty text are kept, since every id needs a prediction
  Split split = Split::train;
  // In the examples, beside their tokens
  bool keep_texts = false;
  // However many, or all of a label
  bool skip_bad_rows = false;
};

struct SkippedRow {
  int64_t line;                                    // the physical line on which it starts
  std::string what, expected;
};

struct LoadReport {
  std::string file;
  int64_t rows = 0;                         // read, skipped ones included
  std::vector<SkippedRow> skipped = {};
  std::vector<std::string> long_rows = {};  // valid rows of several lines: "3-5"
  int64_t taken = 0;                        // examples
  int64_t truncated = 0;                    // examples that lost words to max_length
  int max_length = 0;

  // "FILE: 2 of 600 rows skipped: lines 5, 9", and the same of truncated and long rows.
  std::vector<std::string> totals() const;
  // Lines to print: the first skipped rows in detail, then the totals; "" if there are none.
  std::string text() const;
};

// Reads a task's file. Rows that are ragged, or whose label is empty, unknown or out of range, are
// skipped and reported. If one file is both train and dev (Financial PhraseBank), a fifth of the
// rows is dev, chosen by a random number of their text and the fixed seed 11711: every run has the
// same two sets, and no sentence is in both.
// Errors: no such file, a missing column, a quote that never closes, no valid row; and, unless
// skip_bad_rows, a training or dev set of which more than one row in a hundred is skipped, or some
// are and no other has a label of the task.
Dataset load_dataset(const Task& task, const std::string& file, const Tokenizer& tokenizer,
                     const DatasetOptions& options, LoadReport& report);

// One of the task's sets in the folder. `log` receives the report.
Dataset read_set(const std::string& folder, const Task& task, Split split, size_t set,
                 const Tokenizer& tokenizer, DatasetOptions options, std::ostream& log);

// The tokenizer of a new network without a vocabulary of its own: `size` word pieces made of the
// tasks' training texts in the folder.
Tokenizer own_tokenizer(const std::string& folder, std::span<const Task> tasks, int size,
                        bool lower_case);

// Error where a task's training or dev file is not in the folder: names the tasks whose files are.
void check_files(const std::string& folder, std::span<const Task> tasks);

// An example without id and label from its texts, one or two, tokenized as in load_dataset.
// *truncated: was any cut?
Example make_example(const Task& task, std::span<const std::string> texts,
                     const Tokenizer& tokenizer, const DatasetOptions& options,
                     bool* truncated = nullptr);

// Some examples, in order; siamese pairs as u_0, v_0, u_1, v_1, ...
struct Labeled {
  Batch batch;
  std::vector<double> labels;                   // one an example
};
// task: {its id}, for conditional norms, or none.
Labeled labeled(const Dataset& data, std::span<const int32_t> examples, const Indices& task = {});

// The label that a text says, as the files of the task have it or by its name, "very positive".
// Error: what a label of the task is
double label_of(const Task& task, const std::string& text);


}  // namespace minbert
