// Texts to predict, and tables of what a model says of them.
#pragma once

#include <functional>
#include <istream>

#include "minbert/trainer.h"
#include "report/figure.h"

namespace minbert {

// Takes the next texts, one or two of a pair, and says where they stand; false at the end.
using Texts = std::function<bool(Names& texts, std::string& where)>;
// Each line; of a pair with a TAB between its texts.
Texts texts_of_lines(std::istream& in, const std::string& name);
bool is_table(const std::string& file);             // by its ending: .tsv, .csv
// Each row of a table whose first line names its columns, separated by TABs, commas or semicolons.
// columns: "a", or "a,b" of a pair; `names` gets them. quoting: has a .tsv quotes? A .csv does.
// Errors: a column that is not there; a row with more or fewer fields.
Texts texts_of_table(const std::string& file, bool quoting, const std::string& columns,
                     Names& names);

// The columns of a prediction, "prediction" and its classes, or "score"; and their values.
Names prediction_columns(const Task& task);
Names prediction_fields(const Task& task, double value, std::span<const double> logits);
// A row as src/tasks/tsv.h reads it: quotes around a field with a separator, a line end or a quote.
std::string table_row(const Names& fields, char separator = '\t');

// FOLDER/predictions/dev-NAME.tsv of every dev set, "dev-sst.tsv": id, texts, label, prediction,
// probabilities.
void write_dev_tables(const std::string& folder, const Experiment& experiment,
                      const RunResult& result);

// ---- What is given on a command line

// Error where the file's name ends otherwise. endings: as ".tsv"
void check_ending(const std::string& option, const std::string& file, const Names& endings);
// Error where a text is the name of a file. instead: the option that takes one, if there is one
void check_is_text(const std::string& text, const std::string& instead = "");

}  // namespace minbert
