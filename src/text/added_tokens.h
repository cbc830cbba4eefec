// Added tokens: each stays whole wherever a text has it, as [MASK] does.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace minbert {

struct AddedToken {                                // in the words of Hugging Face's files
  std::string content;
  int64_t id;
  bool special = true;
  bool lstrip = false, rstrip = false;  // takes along the white space before it, after it
  bool single_word = false;             // does not count as part of a word
  bool normalized = false;              // is cleaned up, and then looked for in clean text
  bool piece = true;                    // may words be cut into it as well?
  bool operator==(const AddedToken&) const = default;
};
constexpr std::pair<const char*, bool AddedToken::*> added_token_flags[] = {
    {"special", &AddedToken::special},         {"lstrip", &AddedToken::lstrip},
    {"rstrip", &AddedToken::rstrip},           {"single_word", &AddedToken::single_word},
    {"normalized", &AddedToken::normalized}};

// Finds the tokens in a text from left to right; the longest of those that begin at a place counts.
class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::ranges::stable_sort(tokens_, std::greater(), [](auto& t) { return t.content.size(); });
    for (const AddedToken& t : tokens_)
      if (!t.content.empty()) by_first_byte_[uint8_t(t.content[0])].push_back(&t);
  }
  AddedTokens(const AddedTokens&) = delete;
  AddedTokens& operator=(const AddedTokens&) = delete;

  // Calls on_token(id) for each token and on_text(part) for what stands between them.
  template <class OnText, class OnToken>
  void cut(std::string_view text, OnText on_text, OnToken on_token) const {
    size_t done = 0;                               // the text before it is cut
    for (size_t pos = 0; pos < text.size();) {
      const AddedToken* const token = token_at(text, pos);
      size_t begin = pos;
      pos += token ? token->content.size() : 1;
      if (!token || (token->single_word && !stands_alone(text, begin, pos))) continue;
      if (token->lstrip && done < begin)
        begin = done + without_last_spaces(text.substr(done, begin - done)).size();
      if (done < begin) on_text(text.substr(done, begin - done));
      on_token(int32_t(token->id));
      done = token->rstrip ? text.size() - without_first_spaces(text.substr(pos)).size() : pos;
    }
    if (done < text.size()) on_text(text.substr(done));
  }

 private:
  const AddedToken* token_at(std::string_view text, size_t pos) const {
    for (const AddedToken* const t : by_first_byte_[uint8_t(text[pos])])
      if (text.substr(pos).starts_with(t->content)) return t;
    return nullptr;
  }
  static bool stands_alone(std::string_view text, size_t begin, size_t end) {
    size_t last = begin;                           // where the character before the token begins
    while (last > 0 && (text[--last] & 0xC0) == 0x80) {}
    return (begin == 0 || !is_word_character(next_code_point(text, last))) &&
           (end == text.size() || !is_word_character(next_code_point(text, end)));
  }

  std::vector<AddedToken> tokens_;                 // long ones first
  std::array<std::vector<const AddedToken*>, 256> by_first_byte_;
};

}  // namespace minbert
