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

// The same for any text: calls on_special(i) where it contains special_names[i].
template <class OnWord, class OnSpecial>
void for_each_word(std::string_view text, bool lower_case, OnWord on_word, OnSpecial on_special) {
  size_t begin = 0;                                // of the text that is not split yet
  for (size_t pos = text.find('['); pos != text.npos; pos = text.find('[', pos)) {
    const auto special = std::find_if(special_names.begin(), special_names.end(), [&](std::string_view name) {
      return text.substr(pos).starts_with(name);
    });
    if (special == special_names.end()) {
      ++pos;
      continue;
    }
    for_each_plain_word(text.substr(begin, pos - begin), lower_case, on_word);
    on_special(size_t(special - special_names.begin()));
    pos += special->size();
    begin = pos;
  }
  for_each_plain_word(text.substr(begin), lower_case, on_word);
}

}  // namespace minbert
