// Parses the text of one rule by recursive descent.
#include "data/notation.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "minbert/error.h"

namespace minbert {

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool is_name(const std::string& text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

void grammar_error(const std::string& file, int line, const std::string& what, const std::string& expected) {
  fail(formatted("{}:{}: {}\n  expected {}", file, line, what, expected));
}

Notation::Notation(const std::string& file, const std::vector<Line>& lines, Add add)
    : file_(file), add_(std::move(add)) {
  for (const Line& line : lines) {
    starts_.push_back({text_.size(), line.number});
    text_ += line.text + " ";
  }
}

int Notation::line() const {
  int number = 0;
  for (const auto& [start, of_start] : starts_)
    if (start <= at_) number = of_start;
  return number;
}

std::vector<Alternative> Notation::alternatives(const Rule& home, char close) {
  std::vector<Alternative> found;
  do {
    Alternative alternative;
    alternative.home = &home;
    alternative.weight = weight();
    do alternative.wordings.push_back(wording(home));
    while (peek() == '/' && ++at_);
    found.push_back(std::move(alternative));
  } while (peek() == '|' && ++at_);
  check(peek() == close, close ? "a \"(\" without its \")\"" : "a \")\" without its \"(\"", "( and ) in pairs");
  return found;
}

int Notation::weight() {
  while (peek() == ' ') ++at_;
  if (peek() != '[') return 1;
  const size_t end = std::min(text_.find(']', at_), text_.size());
  const std::string digits = text_.substr(at_ + 1, end - at_ - 1);
  const bool whole = !digits.empty() && digits.size() < 5 && digits.find_first_not_of("0123456789") == digits.npos;
  check(whole && std::stoi(digits) > 0, "a weight of \"" + digits + "\"", "a whole number from 1 to 9999, as in [3]");
  at_ = end + 1;
  return std::stoi(digits);
}

Wording Notation::wording(const Rule& home) {
  Wording parts;
  while (peek() != '\0' && peek() != '|' && peek() != '/' && peek() != ')') {
    if (peek() == '{') {
      parts.push_back(braces());
    } else if (peek() == '(') {
      parts.push_back(group(home));
    } else {
      const size_t end = std::min(text_.find_first_of("{(|/)", at_), text_.size());
      const GrammarPart words{.kind = GrammarPart::text, .words = text_.substr(at_, end - at_), .line = line()};
      at_ = end;
      const bool edge = parts.empty() || std::string_view("|/)").find(peek()) != std::string_view::npos || !peek();
      if (!edge || !trimmed(words.words).empty()) parts.push_back(words);
    }
  }
  if (parts.size() == 1 && parts[0].kind == GrammarPart::text) parts[0].words = trimmed(parts[0].words);
  return parts;
}

GrammarPart Notation::group(const Rule& home) {
  Rule& rule = add_(home.name + "(" + std::to_string(++groups_) + ")", line());
  ++at_;
  rule.alternatives = alternatives(rule, ')');
  ++at_;
  return {.kind = GrammarPart::reference, .words = rule.name, .line = rule.line};
}

// {rule}, {rule.form}, {rule:variable}, {rule.form:variable}, {own rule}, {new x ...}, {swap x y}
GrammarPart Notation::braces() {
  const size_t end = text_.find('}', at_);
  check(end != text_.npos, "a \"{\" without its \"}\"", "{NAME}");
  const std::string inside = text_.substr(at_ + 1, end - at_ - 1);
  const std::vector<std::string> words = split_words(inside);
  GrammarPart part{.line = line()};
  if (words.size() > 1) {
    const bool own = words[0] == "own" && words.size() == 2, swap = words[0] == "swap" && words.size() == 3;
    check(own || swap || words[0] == "new", "{" + inside + "}",
          "{RULE}, {own RULE}, {new VARIABLE ...} or {swap VARIABLE VARIABLE}");
    part.kind = own ? GrammarPart::own : swap ? GrammarPart::swap : GrammarPart::anew;
    if (own) part.words = words[1];
    else part.variables.assign(words.begin() + 1, words.end());
  } else {
    part.kind = GrammarPart::reference;
    const size_t colon = std::min(inside.find(':'), inside.size()), dot = std::min(inside.find('.'), colon);
    part.words = inside.substr(0, dot);
    if (dot < colon) part.form = inside.substr(dot + 1, colon - dot - 1);
    if (colon < inside.size()) part.variable = inside.substr(colon + 1);
    const bool named = is_name(part.words) && (dot == colon || is_name(part.form));
    check(named && (colon == inside.size() || is_name(part.variable)), "{" + inside + "}",
          "{RULE}, {RULE.FORM}, {RULE:VARIABLE} or {RULE.FORM:VARIABLE}");
  }
  at_ = end + 1;
  return part;
}

}  // namespace minbert
