// The GPU, as far as the engine's host code sees it. A build without CUDA=1 has none, and asking for one says so.
//
// All work is put in one stream, in the order of the program: kernels, products and copies wait for each other there,
// and a block of memory may be given out again at once, since whoever gets it stands behind in the same stream. The
// host waits only where it wants to see a result (to_host, synchronize), where memory is asked of the card or given
// back to it, and where it is 4 MB of copies ahead of the GPU.
#pragma once

#include <cstdint>
#include <string>

#include "engine/gemm.h"

namespace minbert::cuda {

bool present();                                     // is there a GPU, of whatever kind?
void require();                                     // Error that says what was looked for, unless a GPU can be used
std::string describe();                             // "NVIDIA H200, 139 GiB, compute capability 9.0"

void* allocate(int64_t bytes);                      // nullptr: there is no room; Error for anything else
void free(void* block);
// Bytes of the card. Free: without 1/128 of it, where the driver loads kernels.
struct Memory {
  int64_t free, total;
};
Memory memory();

void to_device(void* to, const void* from, int64_t bytes);     // does not wait for it; from may be used again
void to_host(void* to, const void* from, int64_t bytes);       // waits
void synchronize();                                 // Error where a kernel has failed since
// Memory that the host can read, too (cudaMallocManaged), and a wait behind every launch: tests may look at tensors'
// data(). What was allocated before stays as it was.
void set_debug(bool on);

int64_t launches();                                 // kernels, products and copies so far
int64_t waits();                                    // how often the host has waited so far
void count_launch(const char* what);                // behind a launch; Error where it could not start

constexpr int64_t cublas_workspace = 32 << 20;      // bytes, from the first product on
// As gemm and gemm_batch of gemm.h, in the precision of device.h; grouped products know no bf16 and take tf32 for it,
// and fp32 where an operand does not begin at a multiple of 16 bytes.
void gemm(Transpose form, const Product& product, real alpha, real beta);
void gemm_batch(Transpose form, const std::vector<Product>& products, real alpha, real beta);
// C = A B^T + bias, which is added to each row as it is written. false: nothing was done, there is no kernel for that.
bool gemm_with_bias(const Product& product, const real* bias);

}  // namespace minbert::cuda
