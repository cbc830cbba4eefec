// Reading MathML.
#include "report/mathml.h"

#include <algorithm>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/error.h"

namespace minbert {
namespace {

// Elements, and how many parts each has; -1: any number
constexpr struct Form {
  const char* name;
  int parts;
} forms[] = {{"mi", 0}, {"mo", 0}, {"mn", 0}, {"mtext", 0}, {"mrow", -1}, {"msqrt", -1}, {"mfrac", 2}, {"msub", 2},
             {"msup", 2}, {"msubsup", 3}, {"mover", 2}, {"munder", 2}, {"munderover", 3}, {"mtable", -1}, {"mtr", -1},
             {"mtd", -1}};

Math parsed(const std::string& text, size_t& at, const std::string& name, int depth = 0) {
  MB_CHECK(depth < 50, "MathML: more than 50 elements within each other");
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
    node.parts.push_back(parsed(text, at, child, depth + 1));
    node.parts.back().attributes = tag.substr(child.size());
    MB_CHECK(tag == child || tag == "mo stretchy=\"false\"", "MathML: <{}> has attributes that pages do not have", tag);
    const std::string close = formatted("</{}>", child);
    MB_CHECK(text.substr(at).starts_with(close), "MathML: expected {} at: {}", close, text.substr(at, 40));
    at += close.size();
  }
  const auto form = std::ranges::find(forms, name, &Form::name);
  MB_CHECK(form != std::end(forms), "MathML: <{}> is no element that pages have", name);
  MB_CHECK(form->parts < 0 || size_t(form->parts) == node.parts.size(), "MathML: <{}> has {} parts, expected {}", name,
           node.parts.size(), form->parts);
  MB_CHECK(form->parts == 0 || node.text.empty(), "MathML: the text \"{}\" stands in <{}>; write it in <mi>, <mo> or "
           "<mtext>", node.text, name);
  MB_CHECK(node.text.find('&') == node.text.npos, "MathML: \"{}\": write the character itself", node.text);
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

}  // namespace

std::vector<std::string> mathml_elements() { return names_of(forms); }

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
    const std::vector<std::string> spaced = {"=", "+", "−", "⊙", "·", "←", "/", "≤", "≥", "<", ">", "∑", "∏", "max",
                                             "log", "exp", "tanh"};
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

}  // namespace minbert
