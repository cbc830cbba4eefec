// Sums over the ranks: on the host by MPI (ranks.cpp), on GPUs by NCCL (nccl.cpp) or in pieces through the host.
#include "engine/rank_sum.h"

#include "engine/cuda.h"
#include "engine/launch.h"
#include "engine/nccl.h"
#include "engine/ranks.h"

namespace minbert {
namespace {

struct AddTheirs {
  HD void operator()(real theirs, real& x) const { x += theirs; }
};

// At distance d both partners compute a + b, which is b + a. All of it waits in the GPU's stream, the host for nothing.
void sum_by_nccl(real* x, int64_t n) {
  constexpr int64_t piece = 1 << 19;                // numbers
  const Tensor theirs({std::min(piece, n)}, Device::cuda);
  for (int d = 1; d < ranks().size(); d *= 2)
    for (int64_t begin = 0; begin < n; begin += piece) {
      const int64_t count = std::min(piece, n - begin);
      nccl::swap(x + begin, theirs.data(), count, ranks().rank() ^ d);
      launch_map(Device::cuda, count, AddTheirs{}, static_cast<const real*>(theirs.data()), InPlace{x + begin});
    }
}

}  // namespace

void sum_over_ranks(const Tensor& x) {
  if (ranks().size() == 1) return;
  if (x.device() == Device::cpu) ranks().sum(std::span(x.data(), size_t(x.size())));
  else if (nccl::why_not().empty()) sum_by_nccl(x.data(), x.size());
  else cuda::through_host(x.data(), x.size(), [](std::span<real> piece) { ranks().sum(piece); });
}

std::string gpu_sum_text() {
  if (nccl::why_not().empty()) return formatted("gradients go from GPU to GPU by {}", nccl::version());
  return formatted("gradients go through pinned memory of the hosts ({})", nccl::why_not());
}

}  // namespace minbert
