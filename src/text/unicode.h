// Unicode for the tokenizers: decoding, categories, and BERT's clean-up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minbert {

// The code point at text[pos]; moves `pos` past it. A byte that begins no valid UTF-8 is U+FFFD by
// itself.
int32_t next_code_point(std::string_view text, size_t& pos);

size_t utf8_length(std::string_view text);  // the bytes before the first that begins no valid UTF-8
inline bool is_utf8(std::string_view text) { return utf8_length(text) == text.size(); }
void append_utf8(std::string& text, int32_t code_point);

// ASCII symbols count as punctuation even where Unicode says otherwise ($ + < = > ^ ` | ~).
bool is_punctuation(int32_t code_point);

// The classes of GPT-2's pattern: \p{L}, \p{N}, \s (White_Space), anything else.
enum class CharacterClass : uint8_t { letter, number, space, other };
CharacterClass class_of(int32_t code_point);
// The class of the character at text[pos]; moves `pos` past it, as next_code_point does.
CharacterClass class_at(std::string_view text, size_t& pos);

// \w of regular expressions
bool is_word_character(int32_t code_point);
std::string_view without_first_spaces(std::string_view text);
std::string_view without_last_spaces(std::string_view text);

struct Cleaning {
  bool lower_case = true;
  bool strip_accents = true;                       // NFD, without nonspacing marks
  bool chinese_apart = true;                       // a space around each Chinese character
};
// Clean text in valid UTF-8: no control characters, every white space a ' ', and the Cleaning.
// Time is linear in the text.
std::string normalize(std::string_view text, const Cleaning& cleaning);

}  // namespace minbert
