// Reading options from text, and writing them as text.
#include "train/cli/option_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "engine/names.h"
#include "minbert/error.h"

namespace minbert {
namespace {

std::string written(bool v) { return v ? "yes" : "no"; }
std::string written(int v) { return std::to_string(v); }
std::string written(const std::string& v) { return v; }
std::string written(const AnyChoice& v) { return v.text(); }
std::string written(double v) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10 - 2);
  out << v;
  return out.str();
}

template <class T>
std::string written(const std::vector<T>& list) {
  std::vector<std::string> parts;
  for (const T& v : list) parts.push_back(written(v));
  return joined(parts, ",");
}

template <class Number>
void read(const Option& option, const std::string& text, Number& number) {
  const bool whole = std::is_same_v<Number, int>;
  const char* const end = text.data() + text.size();
  double v = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, v);
  MB_CHECK(error == std::errc() && rest == end && std::isfinite(v) &&
               (!whole || v == std::floor(v)),
           "{}: \"{}\" is not a {}", option.name(), text, whole ? "whole number" : "number");
  const Range range = std::get<Range>(option.valid);
  const auto most = Number(std::min(range.most, double(std::numeric_limits<Number>::max())));
  MB_CHECK(v >= range.least, "{}: {} is too small; the least is {}", option.name(), text,
           range.least);
  MB_CHECK(v <= double(most), "{}: {} is too large; the most is {}", option.name(), text, most);
  number = Number(v);
}

void read(const Option&, const std::string& text, bool& v) { v = text == "yes"; }
void read(const Option& option, const std::string& text, std::string& v) {
  if (const auto norms = std::get_if<const NormTable*>(&option.valid)) (*norms)->check(text);
  if (const auto names = std::get_if<std::vector<std::string>>(&option.valid))
    index_of(text, *names, option.name());
  v = text;
}

void read(const Option& option, const std::string& text, const AnyChoice& v) {
  v.set(text, option.name().c_str());
}

template <class T>
void read(const Option& option, const std::string& text, std::vector<T>& list) {
  const bool of_norms = std::holds_alternative<const NormTable*>(option.valid);
  const std::vector<std::string> parts = of_norms ? split_norms(text) : split(text);
  std::vector<T> all;
  for (const std::string& part : parts) read(option, part, all.emplace_back());
  list = all;
}

auto& target(auto* variable) { return *variable; }
const AnyChoice& target(const AnyChoice& variable) { return variable; }

}  // namespace

std::string Option::text() const {
  return std::visit([](const auto& v) { return written(target(v)); }, variable);
}
void Option::set(const std::string& text) const {
  std::visit([&](const auto& v) { read(*this, text, target(v)); }, variable);
}
bool Option::is_words() const {
  return std::holds_alternative<std::vector<std::string>*>(variable) &&
         std::holds_alternative<std::string>(valid);
}

std::string Option::what() const {
  if (std::holds_alternative<AnyChoice>(variable)) return "NAME";
  if (const auto* word = std::get_if<std::string>(&valid)) return *word;
  if (std::holds_alternative<int*>(variable)) return "N";
  if (std::holds_alternative<double*>(variable)) return "X";
  return std::holds_alternative<std::string*>(variable) ? "NAME" : "LIST";
}

bool Option::default_in_words() const { return help.find("; " + text() + ": ") != help.npos; }

std::string Option::full_help() const {
  std::string all = help;
  if (default_in_words()) all.replace(all.find("; " + text() + ": ") + 2, text().size(), "default");
  const auto* choice = std::get_if<AnyChoice>(&variable);
  const auto* list = choice ? &choice->names : std::get_if<std::vector<std::string>>(&valid);
  if (list) return all + ": " + joined(*list);
  if (!std::holds_alternative<const NormTable*>(valid)) return all;
  return all + ", as NAME:option=value,option=value; help: a table";
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
