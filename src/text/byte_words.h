// GPT-2's words: one definition for byte-level BPE and for the training of its vocabulary.
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+         Radford et al. 2019, encoder.py
//
// A word takes the space before it. Of other white space before a word, all but the last character are a word, then
// the last one is. Contractions have small letters. A byte that is not UTF-8 is neither space, letter nor number.
#pragma once

#include <array>
#include <string_view>

#include "unicode.h"

namespace minbert {

inline constexpr std::array<std::string_view, 7> contractions = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

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
  size_t last = end = begin;                       // where the last character of the white space begins
  for (size_t next = begin; next < text.size() && class_at(text, next) == CharacterClass::space; end = next) last = end;
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
