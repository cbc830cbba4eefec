// The sum over the ranks of a tensor, wherever it is. Same bits on every rank, and on a GPU as on a CPU.
#pragma once

#include <string>

#include "minbert/tensor.h"

namespace minbert {

// x becomes the sum over all ranks, added as Ranks::sum does it. Tensors on GPUs go from GPU to GPU by NCCL where it is
// found and each rank has a GPU of its own, else through the hosts' memory and MPI.
void sum_over_ranks(const Tensor& x);

// How tensors on GPUs go from rank to rank, for a log. All ranks ask together.
std::string gpu_sum_text();

}  // namespace minbert
