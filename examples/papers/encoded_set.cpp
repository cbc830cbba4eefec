// Opening a model and a data set, and the pass of the one over the other.
#include "papers/encoded_set.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "minbert/model.h"
#include "train/batches.h"

namespace minbert {

ClsPlace place_in(const BertConfig& saved, ClsPlace wanted) {
  return saved.has_trained_pooler() ? wanted : ClsPlace::pre_pooler;
}

void require_pooler(const WeightsReport& weights, const BertConfig& saved,
                    const std::string& model) {
  if (!saved.has_trained_pooler()) return;
  for (const std::string& name : weights.initialised)
    MB_CHECK(name.find("pooler") == name.npos,
             "{}: has no trained pooler ({} is missing), so [CLS] after it means nothing\n"
             "  take a model that has one; isotropy can do without it: --cls-norm-at pre-pooler",
             model, name);
}

EncodedSet::EncodedSet(const DocumentOptions& o, const Task& task, Split split, ClsPlace place)
    : folder_(model_folder(o.model)),
      config_(BertConfig::load(folder_ + "/config.json")),
      place_(place_in(config_, place)),
      tokenizer_(tokenizer_of(folder_, config_)),
      model_(config_, 0, false, heads_of(tasks_of(config_)), 0),
      data_(read_set(o.data, task, split, 0, tokenizer_,
                     o.dataset_options(config_.max_tokens()), std::cerr)) {
  const WeightsReport weights = load_all_layers(folder_, config_, model_.parameters);
  if (place == ClsPlace::pooled) require_pooler(weights, config_, o.model);
  model_.network.train(false);
}

std::string EncodedSet::weights_file() const { return folder_ + "/model.safetensors"; }

std::vector<int32_t> EncodedSet::all() const {
  std::vector<int32_t> all(data_.examples.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

EncodedSet::Cls EncodedSet::cls(std::span<const int32_t> examples) {
  std::vector<real> hl, h;
  for_each_batch(examples, [&](const Batch& batch, std::span<const int32_t> some) {
    const BertOutput encoded = bert().forward(batch, cls_rows);
    const auto append = [&](std::vector<real>& to, const Tensor& x) {
      const std::vector<real> values = finite_values(x, some);
      to.insert(to.end(), values.begin(), values.end());
    };
    append(hl, encoded.cls);
    append(h, place_ == ClsPlace::pooled ? encoded.pooler_output : encoded.cls);
  });
  const Shape shape = {int64_t(examples.size()), config_.hidden_size};
  return {Tensor::from(shape, hl, Device::cpu), Tensor::from(shape, h, Device::cpu)};
}

void EncodedSet::for_each_batch(std::span<const int32_t> examples, const Visit& visit) {
  minbert::for_each_batch("[CLS] of " + data_.file, examples, [&](std::span<const int32_t> some) {
    visit(labeled(data_, some).batch, some);
  });
}

std::vector<real> EncodedSet::finite_values(const Tensor& h, std::span<const int32_t> examples) const {
  const std::vector<real> values = h.values();
  for (size_t k = 0; k < values.size(); ++k) {
    const size_t row = k / size_t(h.cols());
    MB_CHECK(std::isfinite(values[k]),
             "{}: [CLS] of example {} has the value {} in dimension {}; are the model's weights "
             "damaged?",
             data_.file, data_.examples[size_t(examples[row])].id, values[k], k % size_t(h.cols()));
  }
  return values;
}

}  // namespace minbert
