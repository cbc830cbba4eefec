// The folder of a sentence-transformers model: beside the BERT, modules.json and a folder a module.
#pragma once

#include <optional>
#include <string>

#include "minbert/config.h"

namespace minbert {

// How sentence-transformers makes one vector of a text's last hidden states.
struct SentencePooling {
  Pool pool = Pool::mean;                          // or that of the first token
  bool normalize = false;                          // to length 1
  int max_length = 0;                              // in tokens, the special ones included; 0: any
};
// What the folder's modules.json says; nullopt: it has none. Error, with file and key, for what is
// neither.
std::optional<SentencePooling> sentence_pooling(const std::string& folder);

}  // namespace minbert
