// A RoBERTa that a test pre-trains.
#pragma once

#include <string>

#include "library.h"
#include "tiny_bert.h"

namespace minbert::test {

// A library, and a RoBERTa that was pre-trained on it for three steps, in the run "roberta".
struct SmallRoberta {
  Library library;
  std::string folder;
  SmallRoberta() {
    BertConfig config = tiny_config("layer", 8, 0.1);
    config.max_position_embeddings = 32, config.max_length = 32;
    config.save(library.path("small.json"));
    PretrainOptions o = options("roberta");
    o.config = library.path("small.json"), o.vocab.clear(), o.tokenizer = VocabularyKind::bpe, o.vocab_size = 280;
    pretrain(o);
    folder = o.out;
  }
  PretrainOptions options(const std::string& out) const {
    PretrainOptions o = library.options(out);
    o.steps = 3, o.evaluate_every = 2;
    return o;
  }
};

}  // namespace minbert::test
