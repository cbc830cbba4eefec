// The sum over the ranks of a tensor, by MPI on the host (ranks.cpp).
#include "engine/rank_sum.h"

#include "engine/ranks.h"

namespace minbert {

void sum_over_ranks(const Tensor& x) {
  if (ranks().size() == 1) return;
  if (x.device() == Device::cpu) return ranks().sum(std::span(x.data(), size_t(x.size())));
  std::vector<real> values = x.values();
  ranks().sum(std::span(values));
  x.copy_from(values);
}

}  // namespace minbert
