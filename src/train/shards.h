// Data-parallel training. --shards G cuts every batch into G parts by its examples, and the step's
// gradient is the sum of the parts' gradients, added as a binary tree:
//
//   G = 4     (g0 + g1) + (g2 + g3)
//   1 rank (process): all of it     2 ranks: two parts each     4 ranks: one part each
//
// The tree depends on G alone, so the same run on 1, 2 or 4 ranks has the same bits. A part's loss
// counts by its examples, so that every example counts as in one piece. G = 1 is training without
// shards. A step is a loop over the parts of this rank, and a sum:
//
//   for (const BatchPart& part : shards.parts(first_batch, {8, 8})) {
//     const Tensor loss = ...;                       // of the part's examples
//     backward(scale(loss, part.of_step));
//     shards.fold(part, {{loss, part.of_batch}});
//   }
//   shards.sum(false);
#pragma once

#include <span>
#include <vector>

#include "train/cli/command_line.h"

namespace minbert {

// Examples begin .. end-1 of one of a step's batches.
struct BatchPart {
  size_t batch, begin, end;
  double of_batch, of_step;        // its examples divided by the batch's, and by all the step's
  uint64_t clock;                  // the DropoutClock's step: each part draws masks of its own
  int shards_done;                 // how many of this rank's shards are complete with it

  template <class T>
  std::span<const T> examples_of(const std::vector<T>& whole) const {
    return std::span(whole).subspan(begin, end - begin);
  }
};

// A loss of a part, and the weight that it has in the batch's loss.
struct PartLoss {
  Tensor value;
  double share;
};

// Errors: --shards that are no power of two, or that the ranks do not divide; more than one with a
// norm that takes its statistics over the batch.
void check_shards(const RunOptions& options);
void check_shards(const TrainOptions& options);

class Shards {
 public:
  // losses: how many a batch has
  Shards(const RunOptions& options, const Parameters& parameters, size_t losses);

  // Begins a step. This rank's parts of batches that have so many examples, shard by shard, and
  // without the empty ones. first_batch: how many batches came before.
  std::vector<BatchPart> parts(int64_t first_batch, const std::vector<size_t>& sizes);
  // Takes a part's losses and gradients; called after its backward.
  void fold(const BatchPart& part, const std::vector<PartLoss>& losses);
  // Ends the step, after the last part: the gradients become those of all shards, on every rank; a
  // parameter that no shard has reached has none. save_due: does the first rank ask for a save?
  void sum(bool save_due);

  // The losses of one of the step's batches, as of the last sum()
  std::span<const double> losses(size_t batch) const {
    return std::span(numbers_).subspan(batch * losses_of_batch_, losses_of_batch_);
  }
  // The same on all ranks, as of the last sum(): has Ctrl-C reached one of them? Is a save due?
  bool interrupted() const { return interrupted_; }
  bool save_due() const { return save_due_; }

 private:
  // Gradients, and what is added up beside them: each batch's losses times their shares, for each
  // parameter in how many shards backward has reached it, and how many ranks have seen Ctrl-C or
  // ask for a save
  struct Sum {
    Tensor gradients;
    std::vector<double> numbers;
  };
  void end_shards(int count);
  void end_shard();

  int count_;                                       // of all shards
  int own_;                                         // of this rank's
  const Parameters& parameters_;
  size_t losses_of_batch_, batches_ = 0;            // batches_: of the step
  int done_ = 0;                                    // this rank's shards that are complete
  std::vector<double> numbers_;                     // of the shard at work; after sum(): of all
  std::vector<Sum> left_;           // sums of 1, 2, 4, ... shards that wait for their right halves
  bool interrupted_ = false, save_due_ = false;
};

}  // namespace minbert
