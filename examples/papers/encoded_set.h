// A data set and the encoder that reads it: [CLS] of every example, without dropout and without a
// gradient.
//
//   EncodedSet set(options, task, Split::train, ClsPlace::pooled);
//   const auto [hl, h] = set.cls(set.all());         // [N,H] each
#pragma once

#include <functional>

#include "papers/document.h"

namespace minbert {

// Error: these weights were loaded from this model, and the pooler that its family is pre-trained
// with was not among them.
void require_pooler(const WeightsReport& weights, const BertConfig& saved,
                    const std::string& model);
// Where a document's [CLS] is read in this model: at the wanted place, or at "pre-pooler" if the
// pooler starts new, as that of a pre-trained RoBERTa.
ClsPlace place_in(const BertConfig& saved, ClsPlace wanted);

class EncodedSet {
 public:
  // place: where h is read (place_in). Errors: those of the model's and the data's files; `pooled`, but there is no
  // pooler.
  EncodedSet(const DocumentOptions& options, const Task& task, Split split, ClsPlace place);
  const Dataset& data() const { return data_; }
  const BertConfig& config() const { return config_; }
  BertModel& bert() { return model_.network.bert(); }
  std::string weights_file() const;                 // model.safetensors
  // A weight of the encoder: "pooler.dense.weight"
  const Tensor& weight(const std::string& name) const {
    return model_.parameters.value("bert." + name);
  }
  std::vector<int32_t> all() const;                 // 0 .. N-1
  struct Cls {
    Tensor hl, h;                                   // before the pooler; at the set's place. [N,H], on the CPU
  };
  // Of these examples, in their order. Error for a value that is not finite: names the example that has it.
  Cls cls(std::span<const int32_t> examples);
  using Visit = std::function<void(const Batch& batch, std::span<const int32_t> examples)>;
  // Visits these examples in their order (train/batches.h).
  void for_each_batch(std::span<const int32_t> examples, const Visit& visit);

 private:
  std::vector<real> finite_values(const Tensor& h, std::span<const int32_t> examples) const;
  std::string folder_;
  BertConfig config_;
  ClsPlace place_;
  Tokenizer tokenizer_;
  Model model_;
  Dataset data_;
};

}  // namespace minbert
