// Tables in text files, with TABs (or another separator), read row by row and by column name.
//
// Quoting is that of Python's csv module (and of pandas.read_csv(sep="\t")), as in the course's
// files:
//   "say ""hi"""     a field that starts with a quote ends at the next single one; "" inside is one
//                    quote
//   a "quoted" word  a quote in the middle of any other field is an ordinary character
// TABs and line ends inside quotes belong to the field. A field of several lines that ends within a
// text, or between TABs has a TAB, is an error: two stray quotes would hide the rows between them.
// A line ends with LF, CRLF or CR; blank lines are skipped, but between the rows of a table of one
// column, where they are empty texts; a byte order mark is dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "minbert/task.h"

namespace minbert {

struct TsvRow {
  int64_t line = 0, last_line = 0;                 // its physical lines, counted from 1
  std::vector<std::string> fields;                 // in a ragged row more or fewer than the columns
};

class TsvReader {
 public:
  // Errors: a file that cannot be read, that is empty, or that is not UTF-8.
  explicit TsvReader(std::string file, TsvFormat format = {});

  const std::vector<std::string>& columns() const { return format_.names; }
  char separator() const { return format_.separator; }

  // The indices of the named columns. Error for a missing or doubled one: lists those of the file.
  std::vector<size_t> find(const std::vector<std::string>& names) const;

  // Reads one row; false at the end of the file. Error with the line of a quote that never closes.
  bool next(TsvRow& row);

 private:
  char peek() const { return position_ < text_.size() ? text_[position_] : '\n'; }
  std::string field();
  void end_line();

  std::string file_, text_;
  TsvFormat format_;                               // its names are those of the columns
  size_t position_ = 0;
  int64_t line_ = 1;
};

}  // namespace minbert
