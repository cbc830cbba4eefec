// Data-parallel training. --shards G cuts every batch into G parts by its examples, and the step's gradient is the sum
// of the parts' gradients, added as a binary tree:
//
//   G = 4   (g0 + g1) + (g2 + g3)         1 rank: all of it     2 ranks: two parts each     4 ranks: one part each
//
// The tree depends on G alone, so the same run on 1, 2 or 4 ranks has the same bits. A part's loss counts by its
// examples, n_s / n, so that every example counts as in one piece. G = 1 is training without shards.
//
// Where G ranks have one part each, all parts run at the same time, and norms that take statistics over the batch take
// them over all parts (src/engine/batch_rows.h).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "train/command_line.h"

namespace minbert {

// The weight of a part in a step: its examples (or masked words) divided by those of all the step's batches.
template <class Part, class Batch, class Count>
double share(const Part& part, std::span<const Batch> batches, Count count) {
  double all = 0;
  for (const Batch& b : batches) all += double(count(b));
  return double(count(part)) / all;
}

// Do the parts of a batch need each other's statistics? Errors: --shards that are no power of two, or that the ranks do
// not divide; norms over the batch where a rank has several parts of it, which run one after the other.
bool check_shards(const RunOptions& options);
bool check_shards(const TrainOptions& options);

class Shards {
 public:
  // losses: how many a batch has. coupled: what check_shards() said.
  Shards(const RunOptions& options, const Parameters& parameters, size_t losses, bool coupled);

  // Those of a batch's examples that are in this shard: none in some shards of a batch with fewer examples than shards.
  template <class T>
  std::span<const T> part(const std::vector<T>& examples, int shard) const {
    const size_t n = examples.size(), g = size_t(count_), s = size_t(shard), begin = n * s / g;
    return std::span(examples).subspan(begin, n * (s + 1) / g - begin);
  }

  // A loss of a shard's part of a batch, and the weight it has in the batch's.
  struct PartLoss {
    Tensor value;
    double share;
  };
  // Forward and backward of a shard's part of the step's i-th batch. An empty part has no losses.
  using Learn = std::function<std::vector<PartLoss>(size_t i, int shard)>;

  // One step's gradients: the sum over all shards, on every rank. Returns the losses of each batch. first_batch: how
  // many batches came before, which is the clock of dropout. data: a fingerprint of these batches, asked for where
  // there are shards; Error where a rank has another one.
  std::vector<std::vector<Tensor>> gradients(int64_t first_batch, size_t batches, const std::function<uint64_t()>& data,
                                             const Learn& learn);

  // Has Ctrl-C reached one of the ranks? The same on all of them: as of the last gradients().
  bool interrupted() const;

 private:
  struct Sheet;
  std::vector<PartLoss> learn_coupled(const Learn& learn, size_t i, int shard) const;
  void stand_in(const std::function<void()>& learn) const;
  bool begins_early() const;
  int64_t settle(size_t parameter, double& reached, int64_t begin) const;
  void exchange(Sheet& sheet, uint64_t data);

  int count_;
  const Parameters& parameters_;
  std::vector<Tensor> values_;                      // of all parameters
  size_t losses_;
  bool coupled_;                                    // do the parts of a batch need each other's statistics?
  bool interrupted_ = false;
};

}  // namespace minbert
