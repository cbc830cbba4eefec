// The sum over the ranks of a tensor: on the host by MPI (ranks.cpp), of a GPU in pieces through the
// host.
#include "engine/rank_sum.h"

#include "engine/cuda.h"
#include "engine/ranks.h"

namespace minbert {

void sum_over_ranks(const Tensor& x) {
  if (ranks().size() == 1) return;
  if (x.device() == Device::cpu) ranks().sum(std::span(x.data(), size_t(x.size())));
  else cuda::through_host(x.data(), x.size(), [](std::span<real> piece) { ranks().sum(piece); });
}

}  // namespace minbert
