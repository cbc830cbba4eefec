// BERT and RoBERTa: one network, and a table of all that differs (src/bert/family.cpp).
//
//   Papers   BERT: Devlin, Chang, Lee & Toutanova 2019
//            RoBERTa: Liu, Ott, Goyal, Du, Joshi, Chen, Levy, Lewis, Zettlemoyer & Stoyanov 2019
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace minbert {

struct Family {
  std::string name;                       // "model_type" of config.json
  // "architectures" of config.json, Hugging Face's class: by Heads
  std::array<std::string, 3> architecture;
  // A new network's. Where positions_after_padding, a sequence's first token has the position
  // pad_token_id + 1, and max_position_embeddings has as many more; else it has the position 0.
  bool positions_after_padding;
  int pad_token_id, type_vocab_size;
  double layer_norm_eps;
  bool next_sentence;                     // is that pre-trained, and with it the pooler?

  // What a file calls weights whose names begin so in ours, which are BERT's; "": it has none.
  std::string encoder;                    // "bert."
  std::array<std::string, 3> pooler;      // "bert.pooler.dense.": by Heads
  std::string head_of_one_task;           // "heads.TASK."
  std::vector<std::pair<std::string, std::string>> others;        // ours, the file's
};

// Error lists the valid ones; source: for the error.
const Family& family_of(const std::string& model_type, const std::string& source);

// What a parameter is that a pre-trained encoder lacks (src/bert/layer.cpp); "": one that it has.
std::string addition(const std::string& name);

}  // namespace minbert
