// The table of all normalizations of hidden states.
#include "minbert/norm.h"

#include <algorithm>

#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

struct Row {
  NormEntry entry;
  std::unique_ptr<Norm> (*make)(const NormOptions&);
};

// name, formula, paper, a mean is taken over, couples the batch?, running statistics?, parameters, maker
const Row rows[] = {
    {{"none", "x", "", "nothing", false, false, "0"}, make_none},
    {{"layer", "(x-μ)/√(σ²+ε)⊙γ+β", "Ba, Kiros & Hinton 2016 [CLN eq.1-3]", "a token's channels", false, false, "2H"},
     make_layer},
    {{"layer-simple", "(x-μ)/√(σ²+ε)", "Xu et al. 2019", "a token's channels", false, false, "0"}, make_layer_simple},
    {{"variance-only", "x/√(σ²+ε)⊙γ+β", "Wang et al. 2020", "a token's channels", false, false, "2H"},
     make_variance_only},
    {{"rms", "x/√(mean x²+ε)⊙g", "Zhang & Sennrich 2019", "a token's channels", false, false, "H"}, make_rms},
    {{"conditional-layer", "x̂⊙(γ+γ_t)+(β+β_t)", "Improving minBERT with CLN [CLN eq.4]", "a token's channels", false,
      false, "2H + 2H tasks"}, make_conditional_layer},
    {{"batch", "(x-μ)/√(σ²+ε)⊙γ+β", "Ioffe & Szegedy 2015", "all tokens of the batch", true, true, "2H"}, make_batch},
    {{"power", "x/√(ψ²+ε)⊙γ+β", "Shen et al. 2020", "all tokens of all batches", true, true, "2H"}, make_power},
    {{"group", "(x-μ)/√(σ²+ε)⊙γ+β", "Wu & He 2018", "a token's group of channels", false, false, "2H"}, make_group},
    {{"group-sentence", "(x-μ)/√(σ²+ε)⊙γ+β", "Wu & He 2018", "a sentence's group of channels", false, false, "2H"},
     make_group_sentence},
    {{"instance", "(x-μ)/√(σ²+ε)⊙γ+β", "Ulyanov et al. 2016", "a sentence's tokens", false, false, "2H"},
     make_instance},
};

// Columns on a screen: bytes that begin a character, but for accents that sit on the one before (x̂).
size_t width(const std::string& text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); ++i)
    n += (text[i] & 0xC0) != 0x80 && (text[i] != '\xCC' || text[i + 1] != '\x82');
  return n;
}

}  // namespace

const std::vector<NormEntry>& norm_table() {
  static const std::vector<NormEntry> entries = [] {
    std::vector<NormEntry> list;
    for (const Row& row : rows) list.push_back(row.entry);
    return list;
  }();
  return entries;
}

std::string norm_help() {
  std::vector<std::vector<std::string>> lines = {{"norm", "formula", "a mean is taken over", "couples the batch",
                                                  "running statistics", "parameters", "paper"}};
  const auto yes = [](bool b) { return b ? "yes" : "no"; };
  for (const NormEntry& e : norm_table())
    lines.push_back({e.name, e.formula, e.over, yes(e.couples_batch), yes(e.running_statistics), e.parameters,
                     e.paper});
  std::string text;
  for (const auto& line : lines) {
    for (size_t c = 0; c < line.size(); ++c) {
      size_t widest = 0;
      for (const auto& other : lines) widest = std::max(widest, width(other[c]));
      text += line[c] + (c + 1 < line.size() ? std::string(widest + 2 - width(line[c]), ' ') : "\n");
    }
  }
  return text;
}

std::unique_ptr<Norm> make_norm(const std::string& name, const NormOptions& options) {
  std::string names;
  for (const Row& row : rows) {
    if (row.entry.name == name) return row.make(options);
    names += std::string(names.empty() ? "" : ", ") + row.entry.name;
  }
  fail(format("there is no norm \"{}\"; the norms are: {}", name, names));
}

// Of the composed forms; written beside the table since no one norm owns it.
Tensor inverse_root_composed(const Tensor& variance, double eps) {
  const Tensor epsilon = Tensor::full(variance.shape(), real(eps), variance.device());
  return exp(scale(log(add(variance, epsilon)), real(-0.5)));
}

}  // namespace minbert
