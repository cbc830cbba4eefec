// Tables in text files: finding fields, rows and columns.
#include "tasks/tsv.h"

#include <algorithm>

#include "engine/names.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "text/lines.h"
#include "text/unicode.h"

namespace minbert {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string quoted_list(const std::vector<std::string>& names) {
  return '"' + joined(names, "\", \"") + '"';
}

// A file of either encoding as UTF-8. Each byte of ISO-8859-1 is its own code point.
std::string utf8_of(const std::string& text) {
  if (is_utf8(text)) return text;
  std::string utf8;
  for (const char byte : text) append_utf8(utf8, uint8_t(byte));
  return utf8;
}

}  // namespace

TsvReader::TsvReader(std::string file, TsvFormat format)
    : file_(std::move(file)),
      text_(read_file(file_)),
      format_(std::move(format)) {
  std::vector<std::string>& names = format_.names;
  if (format_.sentences) text_ = utf8_of(text_);
  check_utf8(text_, file_);
  if (text_.starts_with(byte_order_mark)) position_ = byte_order_mark.size();
  const size_t begin = position_;
  const std::string header = text_.substr(begin, text_.find_first_of("\r\n", begin) - begin);
  if (format_.separator == 0) {
    const auto is_there = [&](char c) { return header.find(c) != header.npos; };
    format_.separator = is_there('\t') ? '\t' : is_there(',') ? ',' : is_there(';') ? ';' : '\t';
  }
  TsvRow first;
  MB_CHECK(
      next(first) || !names.empty(),
      "{}: the file is empty\n  expected a line with the names of the columns, separated by TABs",
      file_);
  const auto is_name = [&](const std::string& field) {
    return std::ranges::count(names, field) > 0;
  };
  if (names.empty() || std::ranges::any_of(first.fields, is_name)) {
    names = std::move(first.fields);
  } else {                                         // no header: the first line is a row
    position_ = begin;
    line_ = 1;
  }
}

std::vector<size_t> TsvReader::find(const std::vector<std::string>& names) const {
  std::vector<size_t> indices;
  for (const std::string& name : names) {
    const auto count = std::ranges::count(columns(), name);
    MB_CHECK(
        count == 1,
        "{}: {} column \"{}\"\n  the file has {}; needed are {} (columns are separated by {})",
        file_, count == 0 ? "there is no" : "there is more than one", name, quoted_list(columns()),
        quoted_list(names),
        format_.separator == '\t' ? "TABs" : std::string(1, format_.separator));
    indices.push_back(
        size_t(std::ranges::find(columns(), name) - columns().begin()));
  }
  return indices;
}

bool TsvReader::next(TsvRow& row) {
  const size_t text = std::min(text_.find_first_not_of("\r\n", position_), text_.size());
  const bool one_column = columns().size() == 1;    // where a blank line is an empty field
  while (position_ < text && (!one_column || text == text_.size())) end_line();
  if (position_ == text_.size()) return false;
  row.line = line_;
  row.fields.assign(1, field());
  while (peek() == format_.separator) {
    ++position_;
    row.fields.push_back(field());
    if (!format_.sentences || row.fields.size() <= columns().size()) continue;
    row.fields[0] += format_.separator + row.fields[1];
    row.fields.erase(row.fields.begin() + 1);
  }
  row.last_line = line_;
  end_line();
  return true;
}

// The quoted part, if there is one, and the text up to the next separator or line end.
std::string TsvReader::field() {
  std::string value;
  const int64_t opened = line_;
  if (format_.quoting && peek() == '"') {
    for (bool open = true; open;) {
      const size_t begin = ++position_, end = text_.find('"', begin);
      MB_CHECK(end != text_.npos,
               "{}:{}: the quote that opens a field on this line is never closed\n"
               "  all lines to the end of the file would be one field; close it, or double it if "
               "it is part "
               "of the text",
               file_, opened);
      value.append(text_, begin, end - begin);
      line_ += line_ends(std::string_view(text_).substr(begin, end - begin));
      position_ = end + 1;
      open = peek() == '"';  // a doubled quote: one in the text, and the field goes on
      if (open) value += '"';
    }
  }
  const size_t begin = position_;
  const auto ends = [this](char c) { return c == format_.separator || c == '\n' || c == '\r'; };
  const bool stray = !ends(peek()) || (format_.separator == '\t' && value.find('\t') != value.npos);
  MB_CHECK(opened == line_ || !stray,
           "{}:{}: the quote that opens a field on this line is closed on line {}, within a text\n"
           "  all between them would be one field; double a quote that is part of the text",
           file_, opened, line_);
  while (position_ < text_.size() && !ends(text_[position_])) ++position_;
  value.append(text_, begin, position_ - begin);
  return value;
}

void TsvReader::end_line() {
  if (peek() == '\r' && text_.compare(position_, 2, "\r\n") == 0) ++position_;
  if (position_ < text_.size()) ++position_;
  ++line_;
}

}  // namespace minbert
