// Text that comes in: UTF-8, line by line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>

#include "minbert/files.h"

namespace minbert {

// Error for bytes that are not UTF-8, with source, line and byte, and for text in UTF-16. source:
// the name of a file, say; first_line: the number of the text's first line there.
void check_utf8(std::string_view text, const std::string& source, int64_t first_line = 1);

// The number of line ends; LF, CRLF and a CR by itself are one each.
int64_t line_ends(std::string_view text);

// Takes the next line, with its end, LF, CRLF or CR, off the text; "" where none is left.
std::string_view take_line(std::string_view& text);
std::string_view without_end(std::string_view line);

// Calls visit(line) for each line of the file, with its end. It is read in blocks, and checked to
// be UTF-8.
template <class Visit>
void for_each_line(const InputFile& file, Visit visit) {
  constexpr uint64_t block = 1 << 22;
  std::string text;                                 // a block, after the end of the one before
  int64_t number = 0;
  for (uint64_t begin = 0; begin < file.size(); begin += block) {
    text += file.text(begin, size_t(std::min(block, file.size() - begin)));
    const bool last = begin + block >= file.size();
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = take_line(rest);
      if (!last && rest.empty() && !line.ends_with('\n')) {      // it may go on in the next block
        rest = line;
        break;
      }
      check_utf8(line, file.name(), ++number);
      visit(line);
    }
    text.erase(0, text.size() - rest.size());
  }
}

// The lines of a stream: a file, or standard input, without their ends: LF, CRLF or CR, as Python's
// text mode has them.
class Lines {
 public:
  Lines(std::istream& in, std::string source) : in_(in), source_(std::move(source)) {}
  // False at the end. Errors: bytes that are not UTF-8; what cannot be read.
  bool next(std::string& line);
  int64_t number() const { return number_; }        // of the last line, from 1
  int64_t bytes() const { return bytes_; }          // read so far

 private:
  std::istream& in_;
  std::string source_, text_;                       // text_: up to a LF; rest_: its other lines
  std::string_view rest_;
  int64_t number_ = 0, bytes_ = 0;
};

}  // namespace minbert
