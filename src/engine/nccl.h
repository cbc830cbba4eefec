// Messages from GPU to GPU by NCCL, between the ranks of ranks.h.
#pragma once

#include <cstdint>
#include <string>

#include "minbert/tensor.h"

namespace minbert::nccl {

// Why the GPUs cannot send each other anything; "" where they can. The first call connects them: all ranks make it
// together. Error if that fails. The environment's MINBERT_NCCL=0 leaves them unconnected.
const std::string& why_not();
std::string version();                              // "NCCL 2.27.7"

// n numbers of this GPU go to the partner's, and the partner's to `theirs`, in the stream of cuda.h. The partner makes
// the same call.
void swap(const real* mine, real* theirs, int64_t n, int partner);

}  // namespace minbert::nccl
