// A batch: its sentences laid end to end, without padding. Sentence b is the rows from offsets[b]
// to offsets[b+1]-1.
//
//   T tokens in all   B sentences   L_b = offsets[b+1] - offsets[b], the length of sentence b
#pragma once

#include <span>
#include <vector>

#include "minbert/tensor.h"

namespace minbert {

// [CLS] a [SEP], or [CLS] a [SEP] b [SEP] with segment 1 from b on. RoBERTa's: <s> a </s>, or
// <s> a </s></s> b </s> with segment 0 everywhere.
struct Sequence {
  std::vector<int32_t> ids;
  std::vector<int32_t> segments;                   // as long as ids
};

struct Batch {
  // [T]
  Indices ids;
  // [T] 0, or 1 in the second text of a pair
  Indices segments;
  // [T] from 0 in every sentence
  Indices positions;
  // [B+1]
  Indices offsets = {};
  // [T] the sentence each row belongs to
  Indices sentence = {};
  // [B] each sentence's task id; empty: no task
  Indices task = {};
  // [T] the same for each row
  Indices row_task = {};
  // In attention no token sees a later one
  bool causal = false;

  int64_t tokens() const { return ids.size(); }
  int64_t sentences() const { return offsets ? offsets.size() - 1 : 0; }
};

// Lays the sequences end to end. task: empty, one id for all of them, or one a sequence.
// Errors: no sequence, an empty one, not as many segments as ids, a wrong number of task ids.
Batch pack(std::span<const Sequence> sequences, Indices task = {});

// Some rows of a batch, for modules that treat each token by itself: offsets and task, which belong
// to whole sentences, stay empty.
Batch select_rows(const Batch& batch, const Indices& rows);

}  // namespace minbert
