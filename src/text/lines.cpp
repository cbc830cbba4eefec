// Text that comes in.
#include "text/lines.h"

#include <algorithm>
#include <cstdio>

#include "minbert/error.h"
#include "text/unicode.h"

namespace minbert {
namespace {

// A byte order mark tells; without one, Latin letters tell: every other byte of theirs is 0.
bool is_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
         (text.size() > 1 && (text[0] == 0) != (text[1] == 0));
}

}  // namespace

void check_utf8(std::string_view text, const std::string& source, int64_t first_line) {
  MB_CHECK(first_line > 1 || !is_utf16(text),
           "{}: this is UTF-16; expected UTF-8\n  convert it: iconv -f utf16 -t utf8 FILE > NEW",
           source);
  const size_t good = utf8_length(text);
  if (good == text.size()) return;
  const std::string_view before = text.substr(0, good), digits = "0123456789ABCDEF";
  fail(formatted(
      "{}:{}: byte {} of this line is 0x{}{}, which is not UTF-8\n"
      "  convert the text to UTF-8; if it is in Latin-1: iconv -f latin1 -t utf8 FILE > NEW",
      source, first_line + line_ends(before), good - (before.find_last_of("\r\n") + 1) + 1,
      digits[uint8_t(text[good]) / 16], digits[uint8_t(text[good]) % 16]));
}

int64_t line_ends(std::string_view text) {
  int64_t count = 0;
  for (size_t i = 0; i < text.size(); ++i)
    count += text[i] == '\n' || (text[i] == '\r' && text.substr(i + 1, 1) != "\n");
  return count;
}

std::string_view take_line(std::string_view& text) {
  const auto ends = [](char c) { return c == '\n' || c == '\r'; };
  size_t length = size_t(std::ranges::find_if(text, ends) - text.begin());
  length += text.substr(length, 2) == "\r\n" ? 2 : length < text.size();
  const std::string_view line = text.substr(0, length);
  text.remove_prefix(length);
  return line;
}

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool Lines::next(std::string& line) {
  if (rest_.empty()) {
    const bool found(std::getline(in_, text_));
    MB_CHECK(!in_.bad() && !std::ferror(stdin), "{}: cannot be read", source_);
    if (!found) return false;
    rest_ = text_ += '\n';
  }
  const std::string_view next = take_line(rest_);
  ++number_;
  bytes_ += int64_t(next.size());
  line = without_end(next);
  check_utf8(line, source_, number_);
  return true;
}

}  // namespace minbert
