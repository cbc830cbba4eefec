// The sentences, their vocabulary and the network that reads them.
#include <algorithm>
#include <iostream>

#include "minbert/sampling.h"
#include "minbert/transformer_norms.h"

namespace minbert {

NtData read_nt_data(const NtOptions& o, const std::string& vocab_file) {
  NtData data{parse_tasks(o.tasks)[0], Tokenizer::from_vocab(vocab_file), {}, {}, 0};
  DatasetOptions reading{.max_length = o.max_length, .limit = o.limit};
  data.train = read_set(o.data, data.task, Split::train, 0, data.tokenizer, reading, std::cout);
  reading.split = Split::dev;
  data.dev = read_set(o.data, data.task, Split::dev, 0, data.tokenizer, reading, std::cout);
  check_classes(data.task, data.train);
  std::vector<int64_t> counts(size_t(data.task.outputs()));
  for (const Example& e : data.train.examples) ++counts.at(size_t(e.label));
  data.entropy = entropy_of_shares(counts);
  return data;
}

std::vector<int32_t> NtData::class_of(std::span<const int32_t> examples) const {
  const std::vector<double> values = labels(train, examples);
  return {values.begin(), values.end()};
}

// One task, which no batch names: conditional LayerNorm is LayerNorm.
NtClassifier::NtClassifier(const BertConfig& config, int classes)
    : bert_(config, 1), head_(config.hidden_size, classes) {
  child("bert", bert_);
  child("head", head_);
}

Tensor NtClassifier::forward(const Batch& batch) const { return head_(bert_.forward(batch, cls_rows).cls); }

std::string NtSetup::label() const {
  std::string text = format("{}x{}-{}", layers, width, norm);
  if (placement != "post") text += "-" + placement;
  if (uniform > 0) text += format("-uniform{}", uniform);
  if (lr > 0) text += format("-lr{}", lr);
  return text + format("-seed{}", seed);
}

// [NT model]: Vaswani et al. 2017's encoder, post-LN, with ReLU and without segments. [NT init]: Kaiming
// for the feed-forward networks, which have the ReLU, Xavier for all other layers; in their place U(-b, b)
// [NT init.uniform]. Ours: 4 heads, a feed-forward network 4 times as wide as the hidden states, no dropout.
BertConfig nt_config(const NtOptions& o, const NtSetup& s, const Tokenizer& tokenizer) {
  BertConfig c = BertConfig::named("narrow-1");
  c.num_hidden_layers = s.layers;
  c.hidden_size = s.width;
  c.intermediate_size = 4 * s.width;
  c.vocab_size = tokenizer.size();
  c.max_position_embeddings = c.max_length = o.max_length;
  c.positions = o.positions;
  c.placement = s.placement;
  c.set_norm(s.norm);
  if (s.uniform > 0) {
    c.initialisation = "uniform";
    c.initializer_range = s.uniform;
  }
  return c;
}

}  // namespace minbert
