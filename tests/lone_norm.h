// A normalization alone, outside of a network.
#pragma once

#include "error_of.h"
#include "folder.h"
#include "golden_file.h"
#include "minbert/checkpoint.h"
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
                                    name_of(e.mixes), e.statistics, e.parameters,
                                    e.place == ClsPlace::per_method ? "embeddings, layers" : name_of(e.place),
                                    options_text(e.options),
                                    e.paper);
  INFO(row);
  CHECK(contains(read_file(repository("src/norm/README.md")), row));
}

// The parameters of BERT-base with three tasks, from the shapes: no memory is taken.
inline int64_t base_parameters(const std::string& norm, Placement placement = Placement::post) {
  BertConfig config;
  config.norm = norm, config.placement = placement;
  BertModel bert(config, 3);
  int64_t count = 0;
  bert.visit([&](Module& m) {
    for (const Parameter& p : m.own_parameters()) count += p.value.size();
  });
  return count;
}

// A model with the norm is saved with its statistics and loaded, and takes over a LayerNorm's checkpoint, all
// but the names that this does not have.
inline void check_saved(const NormEntry& entry) {
  const Folder folder;
  const std::string file = folder / "norm.safetensors";
  const Batch batch = three_sentences({1});
  const BertConfig config = tiny_config(entry.name, 64);
  BertModel trained(config, 3), loaded(config, 3), plain(tiny_config("layer", 64), 3), taken(config, 3);
  const Parameters p(trained, {}), q(loaded, {.seed = 1}), r(plain, {}), s(taken, {.seed = 2});
  for (BertModel* model : {&loaded, &plain, &taken}) model->train(false);
  randomise(p);
  trained.train(true);
  trained.forward(batch);
  trained.train(false);
  save_weights(file, p);
  const WeightsReport report = load_weights(file, q);
  CHECK(report.initialised.empty());
  CHECK(report.unused.empty());
  CHECK(difference(loaded.forward(batch).last_hidden_state.values(),
                   trained.forward(batch).last_hidden_state.values()) < tolerance(1e-12, 1e-5));  // stored as float32
  save_weights(file, r);
  for (const std::string& name : load_weights(file, s).initialised)
    CHECK_MESSAGE(std::ranges::count(r.items(), name, &Parameter::name) == 0, name);
  CHECK(std::isfinite(largest(taken.forward(batch).last_hidden_state.values())));
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
