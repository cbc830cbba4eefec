// Means over the rows of a batch that is cut into parts, one for each rank. They are over the rows of all parts: each
// rank's mean times its share of the rows, added in the tree of Ranks::sum, so that all ranks have the same bits.
#pragma once

#include "minbert/tensor.h"

namespace minbert {

// While it lives, the rows that this rank works on are one part of a batch. The other ranks have the other parts, and
// run the same operations in the same order.
class PartOfBatch {
 public:
  explicit PartOfBatch(bool counts = true);         // false: they stand in for an empty part
  ~PartOfBatch();
  PartOfBatch(const PartOfBatch&) = delete;
  PartOfBatch& operator=(const PartOfBatch&) = delete;
};

// The rows of a batch. All of them are here where no PartOfBatch lives, and nothing is exchanged.
class BatchRows {
 public:
  BatchRows() = default;
  explicit BatchRows(int64_t rows);                 // how many are here
  double count() const { return count_; }           // in all parts
  Tensor average(const Tensor& means) const;        // the means over the rows here become those over all rows
  Tensor of_last_part(const Tensor& x) const;       // x becomes that of one part, which is never empty

 private:
  void sum(const Tensor& x, double weight) const;   // over the ranks
  bool cut_ = false;
  double count_ = 0, share_ = 1;                    // share_: of all rows, how many are here
};

}  // namespace minbert
