// What the parts of a batch tell each other: how many rows they have, and sums over them.
#include "engine/batch_rows.h"

#include "engine/ranks.h"

namespace minbert {
namespace {

enum class Rows { all, part, stand_in };
Rows rows_here = Rows::all;

}  // namespace

PartOfBatch::PartOfBatch(bool counts) { rows_here = counts ? Rows::part : Rows::stand_in; }
PartOfBatch::~PartOfBatch() { rows_here = Rows::all; }

BatchRows::BatchRows(int64_t rows) : cut_(rows_here != Rows::all), count_(double(rows)) {
  if (!cut_) return;
  const double here = rows_here == Rows::part ? count_ : 0;
  count_ = here;
  ranks().sum(std::span(&count_, 1));
  share_ = here / count_;
}

Tensor BatchRows::average(const Tensor& means) const {
  if (cut_) sum(means, share_);
  return means;
}

Tensor BatchRows::of_last_part(const Tensor& x) const {
  if (cut_) sum(x, ranks().rank() == ranks().size() - 1 ? 1 : 0);
  return x;
}

// In double, in the host's memory.
void BatchRows::sum(const Tensor& x, double weight) const {
  std::vector<double> sums;
  for (const real value : x.values()) sums.push_back(weight * double(value));
  ranks().sum(std::span(sums));
  x.copy_from(std::vector<real>(sums.begin(), sums.end()));
}

}  // namespace minbert
