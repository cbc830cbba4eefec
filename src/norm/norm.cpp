// The tables of all normalizations, of hidden states and of [CLS], and the reading of
// "group:groups=8,eps=1e-3".
#include "minbert/norm.h"

#include <algorithm>
#include <optional>

#include "engine/fill.h"
#include "engine/names.h"
#include "engine/text.h"
#include "norm/entries.h"

namespace minbert {

const NormTable& norms() {
  static const NormTable table = {"norm", {MB_NORMS}};
  return table;
}

const NormTable& cls_norms() {
  static const NormTable table = {"[CLS] norm", {MB_CLS_NORMS}};
  return table;
}

namespace {

void check_value(const std::string& norm, const NormOption& option, const std::string& value) {
  if (!option.words.empty()) {
    MB_CHECK(std::ranges::count(option.words, value) > 0,
             "{}: {} is \"{}\", expected one of: {}", norm, option.name, value,
             joined(option.words));
    return;
  }
  const std::optional<double> v = number_in(value);
  MB_CHECK(v && option.min <= *v && *v <= option.max,
           "{}: {} is \"{}\", expected a number from {}{}", norm, option.name, value, option.min,
           option.max < 1e30 ? formatted(" to {}", option.max) : "");
}

}  // namespace

double NormOptions::number(const std::string& option, double fallback) const {
  const auto value = values.find(option);
  return value == values.end() ? fallback : *number_in(value->second);
}

std::string norm_name(const std::string& norm) { return norm.substr(0, norm.find(':')); }

std::vector<std::string> split_norms(const std::string& list) {
  std::vector<std::string> norms;
  for (const std::string& part : split(list)) {
    const bool is_option = part.find('=') != part.npos && part.find(':') == part.npos;
    if (is_option && !norms.empty()) norms.back() += "," + part;
    else norms.push_back(part);
  }
  return norms;
}

std::map<std::string, std::string> norm_values(const std::string& norm,
                                               const std::vector<NormOption>& options) {
  const std::string name = norm_name(norm);
  std::map<std::string, std::string> values;
  MB_CHECK(norm != name + ":", "{}: expected options after the colon, as in {}:option=value", norm,
           name);
  for (const std::string& part : split(norm.substr(std::min(norm.size(), name.size() + 1)))) {
    const size_t equals = part.find('=');
    MB_CHECK(equals != part.npos, "{}: \"{}\" is no option; expected {}:option=value,option=value",
             norm, part, name);
    const std::string key = part.substr(0, equals), value = part.substr(equals + 1);
    const auto option = std::ranges::find(options, key, &NormOption::name);
    MB_CHECK(
        option != options.end(), "{}: {} has no option \"{}\"; {}", norm, name, key,
        options.empty() ? std::string("it has none") : "its options are " + options_text(options));
    MB_CHECK(values.emplace(key, value).second, "{}: {} is given twice", norm, key);
    check_value(norm, *option, value);
  }
  for (const NormOption& option : options)
    if (option.value) values.emplace(option.name, option.value);
  return values;
}

std::string options_text(const std::vector<NormOption>& options) {
  std::vector<std::string> list;
  for (const NormOption& o : options) {
    const std::string source = o.value ? o.value : o.source;
    list.push_back(formatted("{}={}", o.name, o.words.empty() ? source : joined(o.words, "|")));
  }
  return joined(list);
}

const NormEntry& NormTable::find(const std::string& norm) const {
  return entries[index_of(norm_name(norm), names_of(entries), what)];
}

void NormTable::check(const std::string& norm) const { norm_values(norm, find(norm).options); }

std::unique_ptr<Norm> NormTable::make(const std::string& norm, NormOptions options) const {
  const NormEntry& entry = find(norm);
  options.values = norm_values(norm, entry.options);
  return entry.make(options);
}

std::string NormTable::help() const {
  std::vector<std::vector<std::string>> lines = {
      {what, "formula", "a mean is taken over", "mixes", "statistics", "parameters", "at",
       "options", "paper"}};
  for (const NormEntry& e : entries)
    lines.push_back({e.name, e.formula, e.over, name_of(e.mixes), e.statistics, e.parameters,
                     e.place == ClsPlace::per_method ? "embeddings, layers" : name_of(e.place),
                     options_text(e.options), e.paper});
  return text_table(lines);
}

ClsPlace cls_norm_place(const std::string& norm, ClsPlace place) {
  return place == ClsPlace::per_method ? cls_norms().find(norm).place : place;
}

void Norm::fit(const Tensor&) { fail("this normalization takes no statistics from a set"); }
void Norm::finish_fit() { fail("this normalization takes no statistics from a set"); }

void Norm::move_average(const Tensor& average, const Tensor& now, double momentum) {
  const NoGrad constants;
  const Tensor moved = (1 - momentum) * average + momentum * now;  // [IsoBN alg.1] [NT norm.batch]
  copy_or_add(moved, average, false);
}

AffineNorm::AffineNorm(const NormOptions& o)
    : eps_(o.number("eps", o.layer_norm_eps)),
      weight_(parameter("weight", {o.hidden}, Init::ones, Decay::no)),
      bias_(parameter("bias", {o.hidden}, Init::zeros, Decay::no)) {}

}  // namespace minbert
