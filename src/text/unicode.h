// Unicode for BERT's tokenizer: decoding, categories, clean-up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minbert {

// The code point at text[pos]; moves `pos` past it. A byte that begins no valid UTF-8 is U+FFFD by itself.
int32_t next_code_point(std::string_view text, size_t& pos);

bool is_utf8(std::string_view text);               // all of it

// ASCII symbols count as punctuation even where Unicode says otherwise ($ + < = > ^ ` | ~).
bool is_punctuation(int32_t code_point);

// Clean text in valid UTF-8: no control characters, every white space a ' ', spaces around each Chinese
// character; with lower_case also NFD, without nonspacing marks, in lower case. Time is linear in the text.
std::string normalize(std::string_view text, bool lower_case);

}  // namespace minbert
