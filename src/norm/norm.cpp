// The table of all normalizations of hidden states.
#include "minbert/norm.h"

#include "engine/text.h"
#include "minbert/names.h"

namespace minbert {

AffineNorm::AffineNorm(int64_t hidden, double eps)
    : eps_(eps), weight_(parameter("weight", {hidden}, Init::ones, Decay::no)),
      bias_(parameter("bias", {hidden}, Init::zeros, Decay::no)) {}

const std::vector<NormEntry>& norm_table() {
  static const std::vector<NormEntry> table = [] {
    std::vector<NormEntry> list;
    // norm_NAME stands at the end of src/norm/hidden/NAME.cpp
    { extern NormEntry norm_none;              list.push_back(norm_none); }
    { extern NormEntry norm_layer;             list.push_back(norm_layer); }
    { extern NormEntry norm_layer_simple;      list.push_back(norm_layer_simple); }
    { extern NormEntry norm_variance_only;     list.push_back(norm_variance_only); }
    { extern NormEntry norm_rms;               list.push_back(norm_rms); }
    { extern NormEntry norm_conditional_layer; list.push_back(norm_conditional_layer); }
    { extern NormEntry norm_batch;             list.push_back(norm_batch); }
    { extern NormEntry norm_power;             list.push_back(norm_power); }
    { extern NormEntry norm_group;             list.push_back(norm_group); }
    { extern NormEntry norm_group_sentence;    list.push_back(norm_group_sentence); }
    { extern NormEntry norm_instance;          list.push_back(norm_instance); }
    return list;
  }();
  return table;
}

const NormEntry& find_norm(const std::string& norm) {
  return norm_table()[index_of(norm_name(norm), names_of(norm_table()), "norm")];
}

const char* name_of(Couples couples) {
  return couples == Couples::nothing    ? "nothing"
         : couples == Couples::sentence ? "a sentence"
                                        : "the batch";
}

std::string norm_help() {
  std::vector<std::vector<std::string>> lines = {{"norm", "formula", "a mean is taken over",
                                                  "couples", "running statistics", "parameters",
                                                  "options", "paper"}};
  const auto yes = [](bool b) { return b ? "yes" : "no"; };
  for (const NormEntry& e : norm_table())
    lines.push_back({e.name, e.formula, e.over, name_of(e.couples), yes(e.running_statistics),
                     e.parameters, options_text(e.options), e.paper});
  return text_table(lines);
}

void check_norm(const std::string& norm) { norm_values(norm, find_norm(norm).options); }

std::unique_ptr<Norm> make_norm(const std::string& norm, NormOptions options) {
  const NormEntry& entry = find_norm(norm);
  options.values = norm_values(norm, entry.options);
  return entry.make(options);
}

}  // namespace minbert
