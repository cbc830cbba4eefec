// From ids to the input of the encoder: a sequence for each text or pair, and batches of them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "minbert/batch.h"
#include "minbert/tokenizer.h"

namespace minbert {

// [CLS] a [SEP], or [CLS] a [SEP] b [SEP] with segment 1 from b on. RoBERTa's: <s> a </s>, or
// <s> a </s></s> b </s> with segment 0 everywhere.
struct Sequence {
  std::vector<int32_t> ids;
  std::vector<int32_t> segments;                   // as long as ids
};

// A sequence of at most max_length ids.
//
// A text that is too long loses its end: of a pair the longer one until both are equally long, then
// both; an odd id stays with the text that was longer, or with b. This is Hugging Face's
// `longest_first`, except that its newer versions stop reading a text soon after max_length ids,
// and so may not know which was longer. *truncated: was anything cut? Error: max_length has
// no room for the special tokens.
Sequence build_sequence(const Tokenizer& tokenizer, std::span<const int32_t> a,
                        std::optional<std::span<const int32_t>> b, int max_length,
                        bool* truncated = nullptr);

// The same for a line: one text, or two with a TAB between them.
Sequence build_sequence(const Tokenizer& tokenizer, std::string_view line, int max_length,
                        bool* truncated = nullptr);

// Lays the sequences end to end. task: empty, one id for all of them, or one a sequence.
// Errors: no sequence, an empty one, not as many segments as ids, a wrong number of task ids.
Batch pack(std::span<const Sequence> sequences, Indices task = {});

}  // namespace minbert
