// A normalization alone, outside of a network.
#pragma once

#include "error_of.h"
#include "golden_file.h"
#include "minbert/files.h"
#include "tiny_bert.h"

namespace minbert::test {

inline const Indices tasks_of_sentences = {2, 0, 2};

inline Batch three_sentences(const Indices& task) { return pack(sentences({3, 1, 4}), task); }

// The norm with so many groups, where it has groups.
inline std::string in_groups(const std::string& norm, int groups) {
  return norm.starts_with("group") && norm.find(':') == norm.npos ? formatted("{}:groups={}", norm, groups) : norm;
}

// Statistics that training moves and evaluation uses
inline bool has_statistics(const NormEntry& entry) { return entry.statistics != std::string("none"); }

// The norm's row stands in the README of src/norm.
inline void check_readme(const NormEntry& e) {
  const std::string row = formatted("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |", e.name, e.formula, e.over,
                                    name_of(e.mixes), e.statistics, e.parameters, e.place, options_text(e.options),
                                    e.paper);
  INFO(row);
  CHECK(contains(read_file(repository("src/norm/README.md")), row));
}

// A norm of the table as a model of its own, of 6 channels, in 3 groups, and 3 tasks.
struct Lone {
  std::unique_ptr<Norm> norm;
  Parameters parameters;
  explicit Lone(const std::string& name, NormOptions options = {6, 3}, int groups = 3)
      : norm(norms().make(in_groups(name, groups), options)), parameters(*norm, {}) {
    randomise(parameters);
    for (const Parameter& b : parameters.buffers())
      b.value.copy_from(uniform(b.name, b.value.shape(), 0.5, 2).values());
  }
  const Tensor& find(const char* name) const { return parameters.value(name); }
  // Parameters that this batch reaches: without task ids, those of the tasks stay without a gradient.
  Inputs inputs(const Batch& batch, const Tensor& x) const {
    Inputs list = {x};
    for (const Parameter& item : parameters.items())
      if (batch.row_task || !item.name.starts_with("task_")) list.push_back(item.value);
    return list;
  }
};

}  // namespace minbert::test
