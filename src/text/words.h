// Splitting text into words: one definition for the tokenizer and the vocabulary trainer.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "unicode.h"

namespace minbert {

inline constexpr std::array<std::string_view, 5> special_names = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
inline constexpr size_t longest_word = 100;        // characters; longer words become [UNK]
inline constexpr std::string_view continues = "##";    // the prefix of pieces that do not begin their word

struct TextHash {
  using is_transparent = void;                     // looks up a string_view without making a string
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

inline size_t count_characters(std::string_view utf8) {
  return size_t(std::count_if(utf8.begin(), utf8.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}
inline bool is_too_long(std::string_view word) {
  return word.size() > longest_word && count_characters(word) > longest_word;
}

// Calls on_word(word) for each word of a text without special tokens, after the clean-up. A word ends at a space or a
// punctuation character, which is itself a word.
template <class OnWord>
void for_each_plain_word(std::string_view text, bool lower_case, OnWord on_word) {
  const std::string normalized = normalize(text, lower_case);
  const auto word = [&](size_t begin, size_t end) {
    if (begin < end) on_word(std::string_view(normalized).substr(begin, end - begin));
  };
  size_t begin = 0;
  for (size_t pos = 0; pos < normalized.size();) {
    const size_t here = pos;
    const int32_t c = next_code_point(normalized, pos);
    if (c != ' ' && !is_punctuation(c)) continue;
    word(begin, here);
    if (c != ' ') word(here, pos);
    begin = pos;
  }
  word(begin, normalized.size());
}

// Cuts the special tokens out of a text: calls on_text(text, i) for the text before names[i], then on_special(i); at
// last on_text(rest, names.size()). All names begin with the same character, and none begins another.
template <class OnText, class OnSpecial>
void cut_specials(std::string_view text, const std::array<std::string_view, 5>& names, OnText on_text,
                  OnSpecial on_special) {
  const char first = names[0][0];
  size_t begin = 0;                                // of the text that is not split yet
  for (size_t pos = text.find(first); pos != text.npos; pos = text.find(first, pos)) {
    const auto special = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
      return text.substr(pos).starts_with(name);
    });
    if (special == names.end()) {
      ++pos;
      continue;
    }
    on_text(text.substr(begin, pos - begin), size_t(special - names.begin()));
    on_special(size_t(special - names.begin()));
    pos += special->size();
    begin = pos;
  }
  on_text(text.substr(begin), names.size());
}

// for_each_plain_word for any text: calls on_special(i) where it contains special_names[i].
template <class OnWord, class OnSpecial>
void for_each_word(std::string_view text, bool lower_case, OnWord on_word, OnSpecial on_special) {
  cut_specials(text, special_names,
               [&](std::string_view part, size_t) { for_each_plain_word(part, lower_case, on_word); }, on_special);
}

}  // namespace minbert
