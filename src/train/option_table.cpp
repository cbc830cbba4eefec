// Reading options from text, and writing them as text.
#include "train/option_table.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "engine/names.h"
#include "minbert/error.h"

namespace minbert {
namespace {

std::string written(bool v) { return v ? "yes" : "no"; }
std::string written(int v) { return std::to_string(v); }
std::string written(const std::string& v) { return v; }
std::string written(double v) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10 - 2);
  out << v;
  return out.str();
}

template <class T>
T number(const Option& option, const std::string& text) {
  size_t used = 0;
  double v = 0;
  try {
    v = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const bool whole = std::is_same_v<T, int>;
  MB_CHECK(used > 0 && used == text.size() && std::isfinite(v) && (!whole || v == std::floor(v)),
           "{}: \"{}\" is not a {}", option.name(), text, whole ? "whole number" : "number");
  const Range range = std::get<Range>(option.valid);
  const T most = T(std::min(range.most, double(std::numeric_limits<T>::max())));
  MB_CHECK(v >= range.least, "{}: {} is too small; the least is {}", option.name(), text,
           range.least);
  MB_CHECK(v <= double(most), "{}: {} is too large; the most is {}", option.name(), text, most);
  return T(v);
}

struct Check {
  const Option& option;
  const std::string& text;
  std::string operator()(const std::string&) const { return text; }
  std::string operator()(Range) const { return text; }
  std::string operator()(const std::vector<std::string>& names) const {
    MB_CHECK(std::ranges::find(names, text) != names.end(),
             "{}: there is no \"{}\"; valid are: {}", option.name(), text, joined(names));
    return text;
  }
  std::string operator()(const NormTable* norms) const {
    norms->check(text);
    return text;
  }
  std::string operator()(std::string (*read)(const std::string&)) const { return read(text); }
};

void read(const Option&, const std::string& text, bool& v) { v = text == "yes"; }
void read(const Option& option, const std::string& text, int& v) { v = number<int>(option, text); }
void read(const Option& option, const std::string& text, double& v) {
  v = number<double>(option, text);
}
void read(const Option& option, const std::string& text, std::string& v) {
  v = std::visit(Check{option, text}, option.valid);
}

std::vector<std::string> parts_of(const Option& option, const std::string& text) {
  if (!option.is_words())
    return std::holds_alternative<const NormTable*>(option.valid) ? split_norms(text) : split(text);
  std::vector<std::string> words;
  std::istringstream lines(text);
  for (std::string word; std::getline(lines, word);) words.push_back(word);
  return words;
}

template <class T>
void read(const Option& option, const std::string& text, std::vector<T>& list) {
  const std::vector<std::string> parts = parts_of(option, text);
  MB_CHECK(option.is_words() || !parts.empty(),
           "{}: an empty list; give one or more, separated by commas", option.name());
  std::vector<T> all;
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    MB_CHECK(option.is_words() || std::find(parts.begin(), part, *part) == part,
             "{}: \"{}\" is there twice", option.name(), *part);
    read(option, *part, all.emplace_back());
  }
  list = all;
}

template <class T>
std::string text_of(const Option&, const T& v) { return written(v); }
template <class T>
std::string text_of(const Option& option, const std::vector<T>& list) {
  std::vector<std::string> parts;
  for (const T& v : list) parts.push_back(written(v));
  return joined(parts, option.is_words() ? "\n" : ",");
}

}  // namespace

std::string Option::text() const {
  return std::visit([&](const auto* v) { return text_of(*this, *v); }, variable);
}
void Option::set(const std::string& text) const {
  std::visit([&](auto* v) { read(*this, text, *v); }, variable);
}
bool Option::is_words() const {
  return std::holds_alternative<std::vector<std::string>*>(variable) &&
         std::holds_alternative<std::string>(valid);
}

std::string Option::what() const {
  if (const auto* word = std::get_if<std::string>(&valid)) return *word;
  if (std::holds_alternative<int*>(variable)) return "N";
  if (std::holds_alternative<double*>(variable)) return "X";
  if (!std::holds_alternative<std::string*>(variable)) return "LIST";
  return std::holds_alternative<const NormTable*>(valid) ? "NORM" : "NAME";
}

std::string Option::full_help() const {
  if (const auto* choices = std::get_if<std::vector<std::string>>(&valid))
    return help + ": " + joined(*choices);
  if (!std::holds_alternative<const NormTable*>(valid)) return help;
  return help + (what() == "LIST" ? ", each" : ",") +
         " as NAME:option=value,option=value; help: a table";
}

void OptionTable::add(std::vector<Option> options) {
  for (Option& option : options) {
    option.section = section_;
    options_.push_back(std::move(option));
  }
}

const Option& OptionTable::find(const std::string& name) const {
  const auto found = std::ranges::find(options_, name, &Option::name);
  MB_CHECK(found != options_.end(),
           "the stored options have \"{}\", which this program does not know", name);
  return *found;
}

std::map<std::string, std::string> OptionTable::values() const {
  std::map<std::string, std::string> all;
  for (const Option& option : options_) all[option.name()] = option.text();
  return all;
}

}  // namespace minbert
