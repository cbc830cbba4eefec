// Decoding and categories, and the clean-up before WordPiece, the same as Hugging Face's, in one
// pass over the text.
//
//   removed      control (Cc), format (Cf) and private-use (Co) characters; U+FFFD, and with it
//                invalid UTF-8
//   ' '          \t \n \r and the separators (Zs, Zl, Zp)
//   Cleaning     ' ' c ' ' for c in the blocks of Chinese characters; canonical decomposition (NFD)
//                without nonspacing marks (Mn); lower case
#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace minbert {
namespace {

bool is_separator(int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return c == '\t' || c == '\n' || c == '\r' || category == UTF8PROC_CATEGORY_ZS ||
         category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

bool is_removed(int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return c == 0xFFFD || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

// CJK ideographs, unified and compatible. Extension E starts at 2B820; we use Hugging Face's 2B920.
bool is_chinese(int32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) ||
         (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

bool is_printable_ascii(char c) { return c >= ' ' && c <= '~'; }

// The output of normalize().
class Output {
 public:
  Output(const Cleaning& cleaning, size_t expected_size) : cleaning_(cleaning) {
    text_.reserve(expected_size);
  }

  void ascii(std::string_view run) {
    flush();
    text_ += run;
    const auto lower = [](char c) { return char(c + (c >= 'A' && c <= 'Z' ? 'a' - 'A' : 0)); };
    if (cleaning_.lower_case)
      std::transform(run.begin(), run.end(), text_.end() - ptrdiff_t(run.size()), lower);
  }

  void put(int32_t c) {
    if (!cleaning_.strip_accents) return append(c);
    constexpr int longest = 4;                     // NFD turns one code point into at most so many
    utf8proc_int32_t parts[longest];
    const auto nfd = utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    const utf8proc_ssize_t n = utf8proc_decompose_char(c, parts, longest, nfd, nullptr);
    for (utf8proc_ssize_t i = 0; i < n; ++i) put_decomposed(parts[i]);
  }

  std::string finish() {
    flush();
    return std::move(text_);
  }

 private:
  // İ alone becomes two characters in lower case: i and a dot above.
  void append(int32_t c) {
    if (cleaning_.lower_case && c == 0x130) text_ += "i\u0307";
    else append_utf8(text_, cleaning_.lower_case ? utf8proc_tolower(c) : c);
  }

  // NFD sorts neighbours by their combining class. Only few characters with such a class are left
  // without nonspacing marks (Hangul tones, musical stems); they wait here until the last neighbour
  // is known.
  void put_decomposed(int32_t c) {
    const utf8proc_property_t& property = *utf8proc_get_property(c);
    const bool nonspacing = property.category == UTF8PROC_CATEGORY_MN;
    if (property.combining_class == 0) {
      flush();
      if (!nonspacing) append(c);
    } else if (!nonspacing) {
      waiting_.emplace_back(property.combining_class, c);
    }
  }

  void flush() {
    if (waiting_.empty()) return;
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [](auto& a, auto& b) { return a.first < b.first; });
    for (const auto& [combining_class, c] : waiting_) append(c);
    waiting_.clear();
  }

  const Cleaning cleaning_;
  std::string text_;
  std::vector<std::pair<int, int32_t>> waiting_;   // (combining class, code point)
};

}  // namespace

int32_t next_code_point(std::string_view text, size_t& pos) {
  if ((text[pos] & 0x80) == 0) return text[pos++];
  utf8proc_int32_t c;
  const utf8proc_ssize_t n =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + pos,
                       utf8proc_ssize_t(text.size() - pos), &c);
  pos += n > 0 ? size_t(n) : 1;
  return n > 0 ? c : 0xFFFD;
}

size_t utf8_length(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    const size_t begin = pos;
    if (next_code_point(text, pos) == 0xFFFD && pos == begin + 1)
      return begin;  // U+FFFD itself has 3 bytes
  }
  return text.size();
}

void append_utf8(std::string& out, int32_t c) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t n = utf8proc_encode_char(c, bytes);
  out.append(reinterpret_cast<const char*>(bytes), size_t(n));
}

bool is_punctuation(int32_t c) {
  if (c < 128) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  }
  const utf8proc_category_t category = utf8proc_category(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

CharacterClass class_of(int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO)
    return CharacterClass::letter;
  if (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO)
    return CharacterClass::number;
  if (is_separator(c) || c == 0x0B || c == 0x0C || c == 0x85) return CharacterClass::space;
  return CharacterClass::other;
}

CharacterClass class_at(std::string_view text, size_t& pos) {
  static const auto ascii = [] {
    std::array<CharacterClass, 128> classes;
    for (int32_t c = 0; c < 128; ++c) classes[size_t(c)] = class_of(c);
    return classes;
  }();
  const auto byte = uint8_t(text[pos]);
  if (byte >= 128) return class_of(next_code_point(text, pos));
  ++pos;
  return ascii[byte];
}

bool is_word_character(int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D ||
         (c >= 0x24B6 && c <= 0x24E9);             // circled letters
}

std::string_view without_first_spaces(std::string_view text) {
  size_t begin = 0;
  for (size_t pos = 0; pos < text.size() && class_at(text, pos) == CharacterClass::space;)
    begin = pos;
  return text.substr(begin);
}

std::string_view without_last_spaces(std::string_view text) {
  size_t end = 0;
  for (size_t pos = 0; pos < text.size();)
    if (class_at(text, pos) != CharacterClass::space) end = pos;
  return text.substr(0, end);
}

std::string normalize(std::string_view text, const Cleaning& cleaning) {
  Output out(cleaning, text.size());
  for (size_t pos = 0; pos < text.size();) {
    size_t end = pos;
    while (end < text.size() && is_printable_ascii(text[end])) ++end;
    if (end > pos) out.ascii(text.substr(pos, end - pos));
    pos = end;
    if (pos == text.size()) break;

    const int32_t c = next_code_point(text, pos);
    if (is_separator(c)) {
      out.put(' ');
    } else if (cleaning.chinese_apart && is_chinese(c)) {
      out.put(' ');
      out.put(c);
      out.put(' ');
    } else if (!is_removed(c)) {
      out.put(c);
    }
  }
  return out.finish();
}

}  // namespace minbert
