// A data set and the encoder that reads it: [CLS] of every example, without dropout and without a
// gradient.
//
//   EncodedSet set(options, task, Split::train, "pooled");
//   set.for_each_batch([&](const Batch& batch, std::span<const int32_t> examples) {
//     const BertOutput out = set.bert().forward(batch, cls_rows);         // out.cls [B,H]
//   });
#pragma once

#include <functional>

#include "minbert/document.h"

namespace minbert {

class EncodedSet {
 public:
  // place: "pooled" needs a trained pooler, and is an Error without one; "pre-pooler" does not.
  EncodedSet(const DocumentOptions& options, const Task& task, Split split,
             const std::string& place);
  const Dataset& data() const { return data_; }
  const BertConfig& config() const { return config_; }
  BertModel& bert() { return model_.network.bert(); }
  std::string weights_file() const;                 // model.safetensors
  // A weight of the encoder: "pooler.dense.weight"
  const Tensor& weight(const std::string& name) const {
    return model_.parameters.value("bert." + name);
  }
  // Visits all examples in their order, 64 at a time; or those of a list. False: interrupted.
  bool for_each_batch(const std::function<void(const Batch& batch,
                                               std::span<const int32_t> examples)>& visit,
                      std::vector<int32_t> examples = {});

 private:
  std::string folder_;
  BertConfig config_;
  Tokenizer tokenizer_;
  Model model_;
  Dataset data_;
};

// [CLS] behind the pooler (place "pooled"), or before it ("pre-pooler"), [B,H]. Error for a value
// that is not finite: names the example of data that has it.
Tensor cls_at(const std::string& place, const BertOutput& encoded, const Dataset& data,
              std::span<const int32_t> examples);

}  // namespace minbert
