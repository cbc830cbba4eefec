// The sum of the shards' gradients.
#include "shards.h"

#include <bit>
#include <optional>

#include "engine/batch_rows.h"
#include "engine/fill.h"
#include "engine/rank_sum.h"
#include "engine/ranks.h"
#include "exchange.h"
#include "minbert/autograd.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

// The gradients become those of shards first .. first+n-1: of the left half plus of the right half.
void sum_shards(const Tensor& gradients, int first, int n, const std::function<void(int)>& learn) {
  if (n == 1) return learn(first);
  sum_shards(gradients, first, n / 2, learn);
  const Tensor left = copy_of(gradients);
  sum_shards(gradients, first + n / 2, n / 2, learn);
  copy_or_add(left, gradients, true);
}

int count_of(const RunOptions& o) { return o.shards > 0 ? o.shards : ranks().size(); }

// what: "--norm batch"
bool check_coupling(const RunOptions& o, const std::string& what, Couples couples) {
  const int count = count_of(o);
  MB_CHECK(couples != Couples::batch || count == ranks().size(),
           "{} takes its statistics over the whole batch, which --shards {} cuts: start {} ranks, one for each part, "
           "or train with --shards 1", what, count, count);
  return couples == Couples::batch && count > 1;
}

}  // namespace

bool check_shards(const RunOptions& o) {
  const int n = ranks().size(), count = count_of(o);
  MB_CHECK(std::has_single_bit(unsigned(count)), "--shards {}: expected a power of two: 1, 2, 4, 8, ...", count);
  MB_CHECK(n <= count && count % n == 0,
           "{} ranks cannot share --shards {} equally: start a power of two of them, {} at most", n, count, count);
  return check_coupling(o, "--norm " + o.norm, norms().find(o.norm).couples);
}

bool check_shards(const TrainOptions& o) {
  const bool hidden = check_shards(static_cast<const RunOptions&>(o));
  const bool cls = check_coupling(o, "--cls-norm " + o.cls_norm, cls_norms().find(o.cls_norm).couples);
  const bool gradients = check_coupling(o, formatted("--grad-norm {}", o.grad_norm),
                                        o.grad_norm > 0 ? Couples::batch : Couples::nothing);
  return hidden || cls || gradients;
}

// What the ranks tell each other in a step. Each writes its own numbers and leaves 0 where others write: the sum over
// the ranks is everybody's, to the bit.
struct Shards::Sheet {
  Sheet(size_t all_losses, size_t parameters)
      : numbers(all_losses + parameters + 1 + 2 * size_t(ranks().size())), losses(numbers.data(), all_losses),
        reached(numbers.data() + all_losses, parameters), interrupted(numbers[all_losses + parameters]),
        data(&interrupted + 1, 2 * size_t(ranks().size())) {}
  std::vector<double> numbers;
  std::span<double> losses;                         // [shards,batches,losses], each times its share
  std::span<double> reached;                        // [parameters] above 0: backward has reached it
  double& interrupted;
  std::span<double> data;                           // [ranks,2] the halves of each rank's fingerprint
};

Shards::Shards(const RunOptions& o, const Parameters& parameters, size_t losses, bool coupled)
    : count_(count_of(o)), parameters_(parameters), losses_(losses), coupled_(coupled) {
  for (const Parameter& p : parameters.items()) values_.push_back(p.value);
}

std::vector<Shards::PartLoss> Shards::learn_coupled(const Learn& learn, size_t i, int shard) const {
  const std::vector<PartLoss> losses = [&] {
    const PartOfBatch part;
    return learn(i, shard);
  }();
  if (losses.empty()) stand_in([&] { learn(i, count_ - 1); });     // the last part is never empty
  return losses;
}

// For an empty part, whose rank the others wait for where they exchange statistics: another part is run, which counts
// nothing in them, and leaves no gradients.
void Shards::stand_in(const std::function<void()>& learn) const {
  const Tensor before = copy_of(parameters_.gradients());
  std::vector<Tensor> without;
  for (const Parameter& p : parameters_.items())
    if (!p.value.grad()) without.push_back(p.value);
  const PartOfBatch part(false);
  learn();
  copy_or_add(before, parameters_.gradients(), false);
  for (const Tensor& parameter : without) parameter.clear_grad();
}

std::vector<std::vector<Tensor>> Shards::gradients(int64_t first_batch, size_t batches,
                                                   const std::function<uint64_t()>& data, const Learn& learn) {
  std::vector<std::vector<Tensor>> losses(batches);
  const auto learn_part = [&](size_t i, int shard) {
    DropoutClock::current().step = uint64_t((first_batch + int64_t(i)) * count_ + shard);
    return coupled_ ? learn_coupled(learn, i, shard) : learn(i, shard);
  };
  if (count_ == 1) {
    for (size_t i = 0; i < batches; ++i)
      for (const PartLoss& loss : learn_part(i, 0)) losses[i].push_back(loss.value);
    return losses;
  }

  const std::vector<Parameter>& items = parameters_.items();
  Sheet sheet(size_t(count_) * batches * losses_, items.size());
  const auto loss_at = [&](int shard, size_t i, size_t l) -> double& {
    return sheet.losses[(size_t(shard) * batches + i) * losses_ + l];
  };
  const int own = count_ / ranks().size();
  std::optional<Exchange> early;
  sum_shards(parameters_.gradients(), ranks().rank() * own, own, [&](int shard) {
    parameters_.clear_gradients();
    size_t whole = items.size();
    const auto whole_from = [&](size_t n) {
      int64_t begin = -1;
      for (; whole > n; --whole) begin = settle(whole - 1, sheet.reached[whole - 1], begin);
      if (early && begin >= 0) early->whole_from(begin);
    };
    for (size_t i = 0; i < batches; ++i) {
      std::optional<WhenWhole> last;
      if (i + 1 == batches && begins_early()) {
        early.emplace(parameters_.gradients());
        last.emplace(values_, whole_from);
      }
      for (size_t l = 0; const PartLoss& loss : learn_part(i, shard))
        loss_at(shard, i, l++) = double(loss.value.item()) * loss.share;
    }
    whole_from(0);
  });
  if (early) early->finish();
  else sum_over_ranks(parameters_.gradients());
  exchange(sheet, data());

  for (size_t i = 0; i < batches; ++i)
    for (size_t l = 0; l < losses_; ++l) {
      double sum = 0;
      for (int shard = 0; shard < count_; ++shard) sum += loss_at(shard, i, l);
      losses[i].push_back(Tensor::full({}, real(sum), Device::cpu));
    }
  return losses;
}

// May a step's last backward and the sum over the ranks run at the same time?
bool Shards::begins_early() const {
  return ranks().size() > 1 && ranks().size() == count_ && ranks().can_sum_aside() && !coupled_ && !recomputes() &&
         parameters_.gradients().device() == Device::cpu;
}

// In the sum, what backward has not reached counts as 0. Returns where this gradient begins, or `begin` if it has none.
int64_t Shards::settle(size_t p, double& reached, int64_t begin) const {
  const Tensor& parameter = parameters_.items()[p].value;
  if (!parameter.requires_grad()) return begin;
  if (parameter.grad()) reached = 1;
  else fill(parameter.take_grad(), 0);
  return parameter.grad().data() - parameters_.gradients().data();
}

// What the ranks tell each other in a step beside gradients.
void Shards::exchange(Sheet& sheet, uint64_t data) {
  const size_t rank = size_t(ranks().rank());
  sheet.interrupted = minbert::interrupted();
  sheet.data[2 * rank] = double(uint32_t(data >> 32));
  sheet.data[2 * rank + 1] = double(uint32_t(data));
  ranks().sum(std::span(sheet.numbers));
  for (size_t r = 0; 2 * r < sheet.data.size(); ++r)
    MB_CHECK(sheet.data[2 * r] == sheet.data[0] && sheet.data[2 * r + 1] == sheet.data[1],
             "rank {} reads other examples than rank 0 in this step: do all hosts see the same files?", r);
  interrupted_ = sheet.interrupted > 0;
  for (size_t p = 0; p < sheet.reached.size(); ++p)  // the heads of other tasks, say, are left alone
    if (sheet.reached[p] == 0) parameters_.items()[p].value.clear_grad();
}

bool Shards::interrupted() const { return ranks().size() > 1 ? interrupted_ : minbert::interrupted(); }

}  // namespace minbert
