// The notation of a rule's text, which the head of data/grammar.txt explains.
//
//   alternatives = alternative { "|" alternative }      alternative = [ "[" weight "]" ] wording { "/" wording }
//   wording      = { words | "{...}" | "(" alternatives ")" }
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/grammar.h"
#include "engine/text.h"

namespace minbert {

std::vector<std::string> split_words(const std::string& text);
bool is_name(const std::string& text);             // letters, digits and -

// An error of grammar.txt: its place, the text found there, and the text expected.
[[noreturn]] void grammar_error(const std::string& file, int line, const std::string& what,
                                const std::string& expected);

class Notation {
 public:
  struct Line {
    std::string text;
    int number;
  };
  // add makes a new rule of a group "(a/b)".
  using Add = std::function<Rule&(const std::string& name, int line)>;
  Notation(const std::string& file, const std::vector<Line>& lines, Add add);

  void read(Rule& rule) { rule.alternatives = alternatives(rule, '\0'); }

 private:
  std::vector<Alternative> alternatives(const Rule& home, char close);
  int weight();
  Wording wording(const Rule& home);
  GrammarPart group(const Rule& home);
  GrammarPart braces();
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  int line() const;
  void check(bool good, const std::string& what, const std::string& expected) const {
    if (!good) grammar_error(file_, line(), what, expected);
  }

  std::string file_, text_;
  std::vector<std::pair<size_t, int>> starts_;      // where the lines begin in text_
  size_t at_ = 0;
  int groups_ = 0;
  Add add_;
};

}  // namespace minbert
