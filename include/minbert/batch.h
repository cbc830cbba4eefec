// A batch: its sentences laid end to end, without padding; b has rows offsets[b]..offsets[b+1]-1.
//
//   T tokens in all   B sentences   L_b = offsets[b+1] - offsets[b], the length of sentence b
#pragma once

#include "minbert/tensor.h"

namespace minbert {

struct Batch {
  Indices ids, segments, positions;                // [T]  positions count from 0 in every sentence
  Indices offsets = {};                            // [B+1]
  Indices sentence = {};                           // [T]  the sentence each row belongs to
  Indices task = {};                               // [B]  each sentence's task id; empty: no task
  Indices row_task = {};                           // [T]  the same for each row
  bool causal = false;                             // attention: no token sees a later one
  int64_t tokens() const { return ids.size(); }
  int64_t sentences() const { return offsets.size() - 1; }
};

// Some rows of a batch, for modules that treat each token by itself: offsets and task, which belong
// to whole sentences, stay empty.
Batch select_rows(const Batch& batch, const Indices& rows);

}  // namespace minbert
