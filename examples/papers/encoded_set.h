// A data set and the encoder that reads it: [CLS] of every example, without dropout and without a
// gradient.
//
//   EncodedSet set(options, task, Split::train, Pooler::needed);
//   set.for_each_batch([&](const Batch& batch, std::span<const int32_t> examples) {
//     const BertOutput out = set.bert().forward(batch, cls_rows);
//     const Tensor h = cls_at("pooled", out, set.data(), examples);       // [B,H]
//   });
#pragma once

#include <functional>

#include "papers/document.h"

namespace minbert {

enum class Pooler { needed, unused };
// Error: these weights were loaded from this model, and the pooler that its family is pre-trained
// with was not among them.
void require_pooler(const WeightsReport& weights, const BertConfig& saved,
                    const std::string& model);
// Where a document's [CLS] is read in this model: at the wanted place, or at "pre-pooler" if the
// pooler starts new, as that of a pre-trained RoBERTa.
ClsPlace place_in(const BertConfig& saved, ClsPlace wanted);

class EncodedSet {
 public:
  // Errors: those of the model's and the data's files; Pooler::needed, but there is none.
  EncodedSet(const DocumentOptions& options, const Task& task, Split split, Pooler pooler);
  const Dataset& data() const { return data_; }
  const BertConfig& config() const { return config_; }
  BertModel& bert() { return model_.network.bert(); }
  std::string weights_file() const;                 // model.safetensors
  // A weight of the encoder: "pooler.dense.weight"
  const Tensor& weight(const std::string& name) const {
    return model_.parameters.value("bert." + name);
  }
  using Visit = std::function<void(const Batch& batch, std::span<const int32_t> examples)>;
  // Visits all examples in their order, or those of a list (train/batches.h).
  void for_each_batch(const Visit& visit);
  void for_each_batch(std::span<const int32_t> examples, const Visit& visit);

 private:
  std::string folder_;
  BertConfig config_;
  Tokenizer tokenizer_;
  Model model_;
  Dataset data_;
};

// [CLS] after the pooler (place "pooled"), or before it ("pre-pooler"), [B,H]. Error for a value
// that is not finite: names the example of data that has it.
Tensor cls_at(ClsPlace place, const BertOutput& encoded, const Dataset& data,
              std::span<const int32_t> examples);

}  // namespace minbert
