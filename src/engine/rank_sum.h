// The sum over the ranks of a tensor, wherever it is. Same bits on every rank, and on a GPU as on a
// CPU.
#pragma once

#include "minbert/tensor.h"

namespace minbert {

// x becomes the sum over all ranks, added as Ranks::sum does it. A tensor of a GPU goes through the
// host's memory.
void sum_over_ranks(const Tensor& x);

}  // namespace minbert
