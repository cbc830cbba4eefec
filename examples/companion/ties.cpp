// Finding letters in MathML, in sentences and in code.
#include "companion/ties.h"

#include <algorithm>
#include <cctype>

#include "report/svg.h"

namespace minbert {
namespace {

// "γ_t" with its subscript below the line
std::string lowered(const std::string& letter) {
  const size_t at = letter.find_first_of("_^");
  if (at == letter.npos || at == 0 || at + 1 == letter.size()) return letter;
  const char* const tag = letter[at] == '_' ? "sub" : "sup";
  return formatted("{}<{}>{}</{}>", letter.substr(0, at), tag, letter.substr(at + 1), tag);
}

const Names keywords = {"auto", "bool", "class", "const", "constexpr", "double", "else", "false", "for", "if", "int",
                        "int32_t", "int64_t", "nullptr", "operator", "override", "return", "size_t", "static", "struct",
                        "template", "this", "true", "void", "while"};

}  // namespace

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

Ties::Ties(const Paper& paper, const std::string& tag) : table_(paper.letters) {
  for (const bool own : {true, false})
    for (size_t i = 0; i < table_.size(); ++i)
      if (own ? bool(std::ranges::count(table_[i].in, tag)) : table_[i].in.empty()) rows_.push_back(i);
}

Ties::Row Ties::row(const std::string& letter) const {
  for (const size_t i : rows_)
    if (table_[i].letter == letter) return i;
  return {};
}
Ties::Row Ties::row_of_name(const std::string& identifier) const {
  for (const size_t i : rows_)
    if (std::ranges::count(table_[i].names, identifier)) return i;
  return {};
}

// What is no identifier, as x̂ or h^l, is a letter here, too.
Ties::Row Ties::of_code(const std::string& word) const {
  const Row named = row_of_name(word);
  return named || std::ranges::all_of(word, in_word) ? named : row(word);
}

// ---- Sentences and code

template <class Tie>
std::string Ties::each_word(const std::string& text, const Tie& tie) const {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto is_mark = [&](size_t i) { return byte(i) == 0xCC || (byte(i) == 0xCD && byte(i + 1) < 0xB0); };
  std::string html;
  for (size_t at = 0, end; at < text.size(); at = end) {
    end = at + 1;
    const bool word = in_word(text[at]);
    if (word) while (end < text.size() && in_word(text[end])) ++end;
    else while ((byte(end) & 0xC0) == 0x80) ++end;            // the rest of a letter in UTF-8
    if (!word && byte(at) < 0x80) {
      html += escaped(text.substr(at, 1));
      continue;
    }
    while (is_mark(end)) end += 2;
    const size_t bare = end;
    if (text.substr(end, 1) == "^" || (text.substr(end, 1) == "_" && (!word || bare > at + 1)))
      do ++end;
      while (end < text.size() && in_word(text[end]));
    const bool possessive = at > 0 && text[at - 1] == '\'' && text.substr(at, end - at) == "s";
    Row found = possessive ? Row() : tie(text.substr(at, end - at));
    if (!found && end != bare) found = tie(text.substr(at, (end = bare) - at));
    const std::string shown = escaped(text.substr(at, end - at));
    html += found ? formatted("<b data-l=\"{}\">{}</b>", *found, tie.code ? shown : lowered(shown)) : tie.plain(shown);
  }
  return html;
}

namespace {
template <class Find>
struct Tying {
  Find find;
  bool code;
  auto operator()(const std::string& word) const { return find(word); }
  std::string plain(const std::string& shown) const {
    return code && std::ranges::count(keywords, shown) ? formatted("<u>{}</u>", shown) : shown;
  }
};
template <class Find>
Tying(Find, bool) -> Tying<Find>;
}  // namespace

std::string Ties::sentence(const std::string& text) const {
  return each_word(text, Tying{[&](const std::string& word) { return word == "a" ? Row() : row(word); }, false});
}

std::string Ties::code(const std::string& text) const {
  return each_word(text, Tying{[&](const std::string& word) { return of_code(word); }, true});
}

std::string Ties::comment(const std::string& text) const {
  const auto of_comment = [&](const std::string& word) { return word == "a" ? Row() : of_code(word); };
  return each_word(text, Tying{of_comment, false});
}

// ---- Equations

std::string Ties::math(const Math& node, bool tie, std::set<size_t>& seen) const {
  const Row found = tie && !node.letter().empty() ? row(node.letter()) : Row();
  std::string attributes = node.attributes, inner = escaped(node.text);
  if (found) {
    attributes += formatted(" data-l=\"{}\"", *found);
    if (seen.insert(*found).second) attributes += " tabindex=\"0\"";       // the first place is reached by Tab
  }
  for (const Math& part : node.parts) inner += math(part, tie && !found, seen);
  return formatted("<{}{}>{}</{}>", node.name, attributes, inner, node.name);
}

std::string Ties::equation(const std::string& mathml) const {
  std::set<size_t> seen;
  return formatted("<div class=\"scroll\"><math display=\"block\">{}</math></div>\n",
                   math(math_of(mathml), true, seen));
}

void Ties::missing(const Math& node, Names& all) const {
  const std::string letter = node.letter();
  if (!letter.empty() && row(letter)) return;
  if (node.name == "mi" && !std::ranges::count(all, letter)) all.push_back(letter);
  for (const Math& part : node.parts) missing(part, all);
}

Names Ties::missing(const std::string& mathml) const {
  Names all;
  missing(math_of(mathml), all);
  return all;
}

}  // namespace minbert
