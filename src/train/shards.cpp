// The sum of the shards' gradients.
#include "train/shards.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "engine/fill.h"
#include "engine/ranks.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

int count_of(const RunOptions& o) { return o.shards > 0 ? o.shards : ranks().size(); }

// what: "--norm batch"
void check_whole_batches(const RunOptions& o, const std::string& what) {
  MB_CHECK(count_of(o) == 1,
           "{} takes its statistics over the whole batch, which --shards {} cuts: train in one "
           "process with --shards 1", what, count_of(o));
}

// x becomes the sum over all ranks, with the same bits on each. A tensor of a GPU goes through the
// host's memory.
void sum_over_ranks(const Tensor& x) {
  if (ranks().size() == 1) return;
  if (x.device() == Device::cpu) return ranks().sum(std::span(x.data(), size_t(x.size())));
  std::vector<real> values = x.values();
  ranks().sum(std::span(values));
  x.copy_from(values);
}

}  // namespace

void check_shards(const RunOptions& o) {
  const int n = ranks().size(), count = count_of(o);
  MB_CHECK(std::has_single_bit(unsigned(count)),
           "--shards {}: expected a power of two: 1, 2, 4, 8, ...", count);
  MB_CHECK(n <= count && count % n == 0,
           "{} ranks cannot share --shards {} equally: start a power of two of them, {} at most", n,
           count, count);
  if (norms().find(o.norm).mixes == Mixes::batch) check_whole_batches(o, "--norm " + o.norm);
}

void check_shards(const TrainOptions& o) {
  check_shards(static_cast<const RunOptions&>(o));
  if (cls_norms().find(o.cls_norm).mixes == Mixes::batch)
    check_whole_batches(o, "--cls-norm " + o.cls_norm);
  if (o.grad_norm > 0) check_whole_batches(o, formatted("--grad-norm {}", o.grad_norm));
}

Shards::Shards(const RunOptions& o, const Parameters& parameters, size_t losses)
    : count_(count_of(o)), own_(count_ / ranks().size()), parameters_(parameters),
      losses_of_batch_(losses) {
  if (count_ > 1) parameters.reserve_gradients();
}

std::vector<BatchPart> Shards::parts(int64_t first_batch, const std::vector<size_t>& sizes) {
  size_t all = 0;
  for (const size_t size : sizes) all += size;
  batches_ = sizes.size();
  numbers_.assign(batches_ * losses_of_batch_ + parameters_.items().size() + 2, 0);
  left_.clear();
  done_ = 0;
  std::vector<BatchPart> list;
  int empty_at_first = 0;
  for (int s = 0; s < own_; ++s) {
    const size_t shard = size_t(ranks().rank() * own_ + s), G = size_t(count_);
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t n = sizes[i], begin = n * shard / G, end = n * (shard + 1) / G;
      if (begin == end) continue;
      const double examples = double(end - begin);
      list.push_back({.batch = i, .begin = begin, .end = end,
                      .of_batch = examples / double(n), .of_step = examples / double(all),
                      .clock = (uint64_t(first_batch) + i) * G + shard, .shards_done = s});
    }
    (list.empty() ? empty_at_first : list.back().shards_done) = s + 1;
  }
  if (count_ > 1) parameters_.zero_grad();
  end_shards(empty_at_first);
  return list;
}

void Shards::fold(const BatchPart& part, const std::vector<PartLoss>& losses) {
  for (size_t l = 0; l < losses.size(); ++l)
    numbers_[part.batch * losses_of_batch_ + l] +=
        double(losses[l].value.item()) * losses[l].share;
  end_shards(part.shards_done);
}

void Shards::end_shards(int count) {
  for (; count_ > 1 && done_ < count; ++done_) end_shard();
}

// The gradient is complete, and the tree of sums grows like a binary counter: a sum of n shards is
// added to that of the n shards before them, where there is one. In the sum, what backward has not
// reached counts as 0.
void Shards::end_shard() {
  const std::vector<Parameter>& items = parameters_.items();
  double* const reached = numbers_.data() + batches_ * losses_of_batch_;
  for (size_t p = 0; p < items.size(); ++p)
    if (items[p].value.grad()) reached[p] = 1;
  const Tensor& gradients = parameters_.gradients();
  for (int bit = 1; done_ & bit; bit *= 2) {
    copy_or_add(left_.back().gradients, gradients, true);
    std::ranges::transform(numbers_, left_.back().numbers, numbers_.begin(), std::plus());
    left_.pop_back();
  }
  if (done_ + 1 == own_) return;                    // the gradients are this rank's sum
  left_.push_back({copy_of(gradients), numbers_});
  numbers_.assign(numbers_.size(), 0);
  parameters_.zero_grad();
}

void Shards::sum(bool save_due) {
  interrupted_ = minbert::interrupted();
  save_due_ = save_due;
  if (count_ == 1) return;
  end_shards(own_);
  double &any_interrupted = numbers_[numbers_.size() - 2], &any_save = numbers_.back();
  any_interrupted = interrupted_;
  any_save = save_due && ranks().first();
  sum_over_ranks(parameters_.gradients());
  ranks().sum(std::span(numbers_));
  interrupted_ = any_interrupted > 0;
  save_due_ = any_save > 0;
  size_t next = batches_ * losses_of_batch_;
  for (const Parameter& p : parameters_.items())    // the heads of other tasks, say, are left alone
    if (numbers_[next++] == 0) p.value.zero_grad();
}

}  // namespace minbert
