// An encoder's results for the texts of a file, written to a safetensors file as they come. The
// memory holds the model and the tokens of all texts.
//
//   cls [N,H]                                      always
//   pooler_output [N,H]                            unless the model's weights have no pooler
//   sentence_embedding [N,H]                       pool, or a folder with modules.json
//   last_hidden_state [T,H]   offsets [N+1]      tokens: text i has rows offsets[i]..offsets[i+1]-1
//   attention.I [layers,heads,L_I,L_I]             attention: the weights of text I
#pragma once

#include <optional>
#include <string>

#include "minbert/trainer.h"

namespace minbert {

struct EncodeOptions {
  std::string input, output;                // one text on each line, or two with a TAB between them
  std::string task;                         // for a conditional norm; empty: as plain LayerNorm
  // Longer texts are cut, with a message on stderr; 0: what modules.json says, else 512
  int max_length = 0;
  bool tokens = false, attention = false;
  // None: what modules.json says (pool and normalize), else no sentence_embedding
  std::optional<Pool> pool = {};
  bool normalize = false;                   // each sentence_embedding to length 1
};

struct EncodeReport {
  int64_t texts, tokens;
};

// Texts are encoded together until they have so many tokens; half as many cost 3% more time at
// BERT-base.
constexpr int64_t encoded_at_a_time = 4096;

// Errors: normalize without a pool; a file that cannot be read; a disk without room for the output
// (before work begins). Throws Interrupted, and leaves no output then.
EncodeReport encode(const TrainedModel& trained, const EncodeOptions& options);

}  // namespace minbert
