// Finding letters in MathML, in sentences and in code.
#include "companion/ties.h"

#include <algorithm>
#include <cctype>

#include "engine/text.h"
#include "report/svg.h"

namespace minbert {
namespace {

Math parsed(const std::string& text, size_t& at, const std::string& name) {
  Math node{name, "", "", {}};
  while (at < text.size() && !text.substr(at).starts_with("</")) {
    if (text[at] != '<') {
      const size_t end = std::min(text.find('<', at), text.size());
      node.text += text.substr(at, end - at), at = end;
      continue;
    }
    const size_t end = text.find('>', at);
    MB_CHECK(end != text.npos, "MathML ends inside of an element: {}", text.substr(at));
    const std::string tag = text.substr(at + 1, end - at - 1), child = tag.substr(0, tag.find(' '));
    at = end + 1;
    node.parts.push_back(parsed(text, at, child));
    node.parts.back().attributes = tag.substr(child.size());
    const std::string close = formatted("</{}>", child);
    MB_CHECK(text.substr(at).starts_with(close), "MathML: expected {} at: {}", close, text.substr(at, 40));
    at += close.size();
  }
  return node;
}

// The character that a mark above a letter is after it: ^ U+0302, ¯ U+0304, ~ U+0303
std::string combining(const std::string& mark) {
  if (mark == "^" || mark == "ˆ") return "\u0302";
  if (mark == "¯" || mark == "‾") return "\u0304";
  return mark == "~" || mark == "˜" ? "\u0303" : "";
}

std::string joined_text(const Math& node) {
  std::string all = node.text;
  for (const Math& part : node.parts) all += joined_text(part);
  return all;
}

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

Math math_of(const std::string& mathml) {
  size_t at = 0;
  const Math all = parsed(mathml, at, "mrow");
  MB_CHECK(at == mathml.size(), "MathML: nothing opens what is closed at: {}", mathml.substr(at));
  return all;
}

std::string Math::letter() const {
  if (name == "mi") return text;
  if (name == "mrow" && parts.size() == 1) return parts[0].letter();
  if (parts.empty()) return "";
  const std::string base = parts[0].letter();
  if (base.empty()) return "";
  if (name == "msub" || name == "msubsup") return base + "_" + joined_text(parts[1]);
  if (name == "msup") return base + "^" + joined_text(parts[1]);
  return name == "mover" ? base + combining(joined_text(parts[1])) : "";
}

std::string text_of(const Math& node) {
  const auto part = [&](size_t i) { return text_of(node.parts.at(i)); };
  const auto grouped = [&](size_t i) {
    const std::string text = part(i);
    const bool whole = (text.starts_with("(") || text.starts_with("√(")) && text.ends_with(")");
    return whole || text.find(' ') == text.npos ? text : "(" + text + ")";
  };
  const auto raised = [&](size_t i) { return part(i) == "2" ? "²" : "^" + grouped(i); };
  const std::string& name = node.name;
  if (name == "mi" || name == "mn") return node.text;
  if (name == "mtext") return node.text + (node.text.ends_with(":") ? " " : "");
  if (name == "mo") {
    const Names spaced = {"=", "+", "−", "⊙", "·", "←", "/", "≤", "≥", "<", ">", "∑", "∏", "max", "log", "exp", "tanh"};
    return std::ranges::count(spaced, node.text) ? " " + node.text + " " : node.text;
  }
  if (name == "mfrac") return grouped(0) + " / " + grouped(1);
  if (name == "msqrt") {
    std::string under;
    for (size_t i = 0; i < node.parts.size(); ++i) under += part(i);
    return "√(" + under + ")";
  }
  if (name == "msub") return part(0) + "_" + grouped(1);
  if (name == "msup") return grouped(0) + raised(1);
  if (name == "msubsup") return part(0) + "_" + grouped(1) + raised(2);
  if (name == "mover") return node.letter().empty() ? part(0) + "^" + grouped(1) : node.letter();
  if (name == "munder") return trimmed(part(0)) + "_{" + part(1) + "} ";
  if (name == "munderover") return trimmed(part(0)) + "_{" + part(1) + "}^{" + part(2) + "} ";
  std::string all;
  const auto is_factor = [&](size_t i) {            // nothing stands between it and a fraction
    return i < node.parts.size() && node.parts[i].name != "mo" && node.parts[i].name != "mtext";
  };
  for (size_t i = 0; i < node.parts.size(); ++i) {
    const bool whole = node.parts[i].name != "mfrac" || !(is_factor(i - 1) || is_factor(i + 1));
    all += (whole ? part(i) : "(" + part(i) + ")") + (node.parts[i].name == "mtr" ? "\n" : "");
  }
  std::string tidy;                                 // one blank is enough
  for (const char c : all)
    if (c != ' ' || (!tidy.empty() && tidy.back() != ' ' && tidy.back() != '\n')) tidy += c;
  return tidy;
}

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

Ties::Row Ties::of_code(const std::string& word) const {
  const Row named = row_of_name(word);
  return named || in_word(word[0]) ? named : row(word);
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
