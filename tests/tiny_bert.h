// Small networks and ragged batches for the tests.
#pragma once

#include <string>
#include <vector>

#include "gradcheck.h"
#include "minbert/bert.h"
#include "minbert/ops.h"
#include "minbert/tokenizer.h"

namespace minbert::test {

inline BertConfig tiny_config(const std::string& norm = "layer", int hidden = 8, double dropout = 0) {
  BertConfig c;
  c.vocab_size = 20, c.max_position_embeddings = 64, c.hidden_size = hidden, c.intermediate_size = 2 * hidden;
  c.num_hidden_layers = c.num_attention_heads = 2;
  c.hidden_dropout_prob = c.attention_probs_dropout_prob = dropout;
  c.norm = norm;
  return c;
}

// The sizes of the golden networks of golden/reference.py, and of the RoBERTa among them; tasks: what it has a head of.
inline BertConfig golden_config() {
  BertConfig c = tiny_config("layer", 16);
  c.vocab_size = 30, c.max_position_embeddings = 12;
  return c;
}
inline BertConfig golden_roberta(const std::vector<std::string>& tasks = {}) {
  BertConfig c = golden_config();
  c.set_family("roberta");
  c.max_length = c.max_tokens(), c.tasks = tasks;
  return c;
}

inline std::vector<HeadSpec> three_heads() {
  return {{"sst", 5, false, false}, {"quora", 1, true, false}, {"sts", 1, true, true}};
}

// A sentence for each length, of random ids.
inline std::vector<Sequence> sentences(const std::vector<int>& lengths,
    const std::string& name = "sentences") {
  Random random(5, name);
  std::vector<Sequence> list;
  for (const int length : lengths) {
    Sequence s;
    for (int i = 0; i < length; ++i) {
      s.ids.push_back(int32_t(random.below(20)));
      s.segments.push_back(i >= length / 2);
    }
    list.push_back(s);
  }
  return list;
}

// Moves every parameter at random: no zero bias, no gain of 1, no two tasks alike.
inline void randomise(const Parameters& parameters, double deviation = 0.4) {
  for (const Parameter& item : parameters.items())
    item.value.copy_from(add(item.value.detach(), normal(item.name, item.value.shape(), deviation)).values());
}

inline Inputs values_of(const Parameters& parameters) {
  Inputs values;
  for (const Parameter& item : parameters.items()) values.push_back(item.value);
  return values;
}

}  // namespace minbert::test
