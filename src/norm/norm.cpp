// The table of all normalizations of hidden states.
#include "minbert/norm.h"

#include "minbert/names.h"
#include "norm/hidden/hidden.h"
#include "norm/text_table.h"

namespace minbert {
namespace {

struct Row {
  NormEntry entry;
  std::unique_ptr<Norm> (*make)(const NormOptions&);
};

// name, formula, paper, a mean is taken over, couples, running statistics?, parameters, maker
using enum Couples;
const Row rows[] = {
    {{"none", "x", "", "nothing", nothing, false, "0"}, make_none},
    {{"layer", "(x-μ)/√(σ²+ε)⊙γ+β", "Ba, Kiros & Hinton 2016 [CLN eq.1-3]", "a token's channels", nothing, false, "2H"},
     make_layer},
    {{"layer-simple", "(x-μ)/√(σ²+ε)", "Xu et al. 2019", "a token's channels", nothing, false, "0"}, make_layer_simple},
    {{"variance-only", "x/√(σ²+ε)⊙γ+β", "Wang et al. 2020", "a token's channels", nothing, false, "2H"},
     make_variance_only},
    {{"rms", "x/√(mean x²+ε)⊙g", "Zhang & Sennrich 2019", "a token's channels", nothing, false, "H"}, make_rms},
    {{"conditional-layer", "x̂⊙(γ+γ_t)+(β+β_t)", "Improving minBERT with CLN [CLN eq.4]", "a token's channels", nothing,
      false, "2H + 2H tasks"}, make_conditional_layer},
    {{"batch", "(x-μ)/√(σ²+ε)⊙γ+β", "Ioffe & Szegedy 2015", "all tokens of the batch", batch, true, "2H"}, make_batch},
    {{"power", "x/√(ψ²+ε)⊙γ+β", "Shen et al. 2020", "all tokens of all batches", batch, true, "2H"}, make_power},
    {{"group", "(x-μ)/√(σ²+ε)⊙γ+β", "Wu & He 2018", "a token's group of channels", nothing, false, "2H"}, make_group},
    {{"group-sentence", "(x-μ)/√(σ²+ε)⊙γ+β", "Wu & He 2018", "a sentence's group of channels", sentence, false, "2H"},
     make_group_sentence},
    {{"instance", "(x-μ)/√(σ²+ε)⊙γ+β", "Ulyanov et al. 2016", "a sentence's tokens", sentence, false, "2H"},
     make_instance},
};

}  // namespace

const std::vector<NormEntry>& norm_table() {
  static const std::vector<NormEntry> entries = [] {
    std::vector<NormEntry> list;
    for (const Row& row : rows) list.push_back(row.entry);
    return list;
  }();
  return entries;
}

const char* name_of(Couples couples) {
  return couples == Couples::nothing ? "nothing" : couples == Couples::sentence ? "a sentence" : "the batch";
}

bool couples_tokens(const std::string& name) {
  for (const NormEntry& entry : norm_table())
    if (entry.name == name) return entry.couples != Couples::nothing;
  return true;                                      // make_norm has the message for an unknown one
}

std::string norm_help() {
  std::vector<std::vector<std::string>> lines = {{"norm", "formula", "a mean is taken over", "couples",
                                                  "running statistics", "parameters", "paper"}};
  const auto yes = [](bool b) { return b ? "yes" : "no"; };
  for (const NormEntry& e : norm_table())
    lines.push_back({e.name, e.formula, e.over, name_of(e.couples), yes(e.running_statistics), e.parameters,
                     e.paper});
  return text_table(lines);
}

std::unique_ptr<Norm> make_norm(const std::string& name, const NormOptions& options) {
  return rows[place_of(name, names_of(norm_table()), "norm")].make(options);
}

// Of the composed forms; written beside the table since no one norm owns it.
Tensor inverse_root_composed(const Tensor& variance, double eps) {
  const Tensor epsilon = Tensor::full(variance.shape(), real(eps), variance.device());
  return exp(scale(log(add(variance, epsilon)), real(-0.5)));
}

}  // namespace minbert
