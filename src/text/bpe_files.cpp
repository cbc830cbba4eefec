// The merges of byte-level BPE, and the letters of its files.
#include <algorithm>
#include <array>

#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "text/lines.h"
#include "text/pieces.h"
#include "text/unicode.h"

namespace minbert {
namespace {

// 0x21 to 0x7E, 0xA1 to 0xAC and 0xAE to 0xFF are themselves; the others are U+0100, U+0101, ... in
// their order.
constexpr std::array letters = [] {
  std::array<int32_t, 256> all{};
  int32_t next = 256;
  for (int32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    all[size_t(byte)] = printable ? byte : next++;
  }
  return all;
}();

// A merge is two pieces with a space between them. where: file and line, for messages.
void add_merge(const std::string& where, const std::string& line, const TokenTable& table,
               Merges& merges) {
  const size_t space = line.find(' ');
  MB_CHECK(space != line.npos && space > 0 && space + 1 < line.size() &&
               line.find(' ', space + 1) == line.npos,
           "{}: expected two pieces with a space between them, not \"{}\"", where, line);
  const std::string left = line.substr(0, space), right = line.substr(space + 1);
  for (const std::string& piece : {left, right, left + right})
    MB_CHECK(table.find(piece) >= 0,
             "{}: joins \"{}\" and \"{}\", but the vocabulary has no token \"{}\"; are the "
             "merges and the vocabulary of one model?",
             where, left, right, piece);
  merges.emplace_back(table.find(left), table.find(right));
}

}  // namespace

// Only the first line can be a comment: later merges may begin with #.
Merges read_merges(const std::string& file, const TokenTable& table) {
  const std::string text = read_file(file);
  Merges merges;
  size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = without_end(take_line(rest));
    if (++number > 1 || !line.starts_with("#version"))
      add_merge(formatted("{}:{}", file, number), std::string(line), table, merges);
  }
  return merges;
}

Merges read_merges(const std::string& file, const Json& all, const TokenTable& table) {
  Merges merges;
  for (const Json& merge : all.items()) {          // "a b", in newer files ["a", "b"]
    const Json::Array two = merge.is_array() ? merge.items() : Json::Array();
    const std::string line =
        two.size() == 2 ? two[0].string() + " " + two[1].string() : merge.string();
    add_merge(formatted("{}: merge {}", file, merges.size() + 1), line, table, merges);
  }
  return merges;
}

std::string to_letters(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) append_utf8(text, letters[uint8_t(byte)]);
  return text;
}

std::string from_letters(std::string_view text) {
  std::string bytes;
  for (size_t pos = 0; pos < text.size();) {
    const auto* const letter = std::ranges::find(letters, next_code_point(text, pos));
    if (letter == letters.end()) return std::string(text);
    bytes += char(letter - letters.begin());
  }
  return bytes;
}

}  // namespace minbert
