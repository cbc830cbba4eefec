// The table of all normalizations.
#include "minbert/norm.h"

#include <functional>

namespace minbert {
namespace {

struct Row {
  NormEntry entry;
  std::function<std::unique_ptr<Norm>(const NormOptions&)> make;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {{"layer", "(x-μ)/√(σ²+ε)⊙γ+β", "Ba, Kiros & Hinton 2016 [CLN eq.1-3]"},
       [](const NormOptions& o) { return std::make_unique<LayerNorm>(o.hidden, o.eps); }},
      {{"conditional-layer", "x̂⊙(γ+γ_t)+(β+β_t)",
        "Improving minBERT with Conditional Layer Normalization [CLN eq.4]"},
       [](const NormOptions& o) { return std::make_unique<ConditionalLayerNorm>(o.hidden, o.tasks, o.eps); }},
  };
  return table;
}

}  // namespace

const std::vector<NormEntry>& norm_table() {
  static const std::vector<NormEntry> entries = [] {
    std::vector<NormEntry> list;
    for (const Row& row : rows()) list.push_back(row.entry);
    return list;
  }();
  return entries;
}

std::unique_ptr<Norm> make_norm(const std::string& name, const NormOptions& options) {
  std::string names;
  for (const Row& row : rows()) {
    if (row.entry.name == name) return row.make(options);
    names += std::string(names.empty() ? "" : ", ") + row.entry.name;
  }
  fail(format("there is no norm \"{}\"; the norms are: {}", name, names));
}

}  // namespace minbert
