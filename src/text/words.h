// Splitting text into words: one definition for the tokenizers and the vocabulary trainers.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "text/unicode.h"

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

// Calls on_word(word) for each word of a clean text (normalize). A word ends at a space or a
// punctuation character, which is itself a word.
template <class OnWord>
void for_each_clean_word(std::string_view text, OnWord on_word) {
  const auto word = [&](size_t begin, size_t end) {
    if (begin < end) on_word(text.substr(begin, end - begin));
  };
  size_t begin = 0;
  for (size_t pos = 0; pos < text.size();) {
    const size_t here = pos;
    const int32_t c = next_code_point(text, pos);
    if (c != ' ' && !is_punctuation(c)) continue;
    word(begin, here);
    if (c != ' ') word(here, pos);
    begin = pos;
  }
  word(begin, text.size());
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
