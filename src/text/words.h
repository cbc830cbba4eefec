// Splitting text into words: one definition for the tokenizers and the vocabulary trainers.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "unicode.h"

namespace minbert {

inline constexpr std::array<std::string_view, 5> special_names = {"[PAD]", "[UNK]", "[CLS]",
                                                                  "[SEP]", "[MASK]"};
inline constexpr size_t longest_word = 100;        // characters; longer words become [UNK]
inline constexpr std::string_view continues = "##";    // begins the pieces inside a word

struct TextHash {
  using is_transparent = void;                     // looks up a string_view without making a string
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

inline size_t count_characters(std::string_view utf8) {
  return size_t(
      std::count_if(utf8.begin(), utf8.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}
inline bool is_too_long(std::string_view word) {
  return word.size() > longest_word && count_characters(word) > longest_word;
}

// Calls on_word(word) for each word of a text without special tokens, after the clean-up. A word
// ends at a space or a punctuation character, which is itself a word.
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

// Cuts the special tokens out of a text: calls on_text(text, i) for the text before names[i], then
// on_special(i); at last on_text(rest, names.size()). All names begin with the same character, and
// none begins another.
template <class OnText, class OnSpecial>
void cut_specials(std::string_view text, const std::array<std::string_view, 5>& names,
                  OnText on_text, OnSpecial on_special) {
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
  cut_specials(
      text, special_names,
      [&](std::string_view part, size_t) { for_each_plain_word(part, lower_case, on_word); },
      on_special);
}

// GPT-2's words, for byte-level BPE (Radford et al. 2019, encoder.py):
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// A word takes the space before it. Of other white space before a word, all but the last character
// are a word, then the last one is. Contractions have small letters. A byte that is not UTF-8 is
// neither space, letter nor number.
inline constexpr std::array<std::string_view, 7> contractions = {"'s", "'t",  "'re", "'ve",
                                                                 "'m", "'ll", "'d"};

// The end of the word that begins at text[begin].
inline size_t end_of_word(std::string_view text, size_t begin) {
  for (const std::string_view c : contractions)
    if (text.substr(begin, c.size()) == c) return begin + c.size();
  size_t end = begin + (text[begin] == ' ');
  const CharacterClass kind = end < text.size() ? class_at(text, end) : CharacterClass::space;
  if (kind != CharacterClass::space) {
    for (size_t next = end; next < text.size() && class_at(text, next) == kind;) end = next;
    return end;
  }
  size_t last = end = begin;  // where the last character of the white space begins
  for (size_t next = begin; next < text.size() && class_at(text, next) == CharacterClass::space;
       end = next)
    last = end;
  return end == text.size() || last == begin ? end : last;
}

template <class OnWord>
void for_each_byte_word(std::string_view text, OnWord on_word) {
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = end_of_word(text, begin);
    on_word(text.substr(begin, end - begin));
  }
}

}  // namespace minbert
