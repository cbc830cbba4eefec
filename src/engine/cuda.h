// The GPU, as far as the engine's host code sees it. A build without CUDA=1 has none, and asking for one says so.
//
// All work is put in one stream, in the order of the program: kernels, products and copies wait for each other there,
// and a block of memory may be given out again at once, since whoever gets it stands behind in the same stream. The
// host waits only where it wants to see a result: to_host, synchronize.
#pragma once

#include <cstdint>
#include <string>

#include "engine/gemm.h"

namespace minbert::cuda {

void require();                                     // Error that says what was looked for, unless a GPU can be used
std::string describe();                             // "NVIDIA H200, 139 GiB, compute capability 9.0"

void* allocate(int64_t bytes);                      // nullptr: there is no room
void free(void* block);
struct Memory {
  int64_t free, total;                              // bytes of the card
};
Memory memory();

void to_device(void* to, const void* from, int64_t bytes);     // returns at once; from may be used again
void to_host(void* to, const void* from, int64_t bytes);       // waits
void copy(void* to, const void* from, int64_t bytes);          // on the device
void synchronize();                                 // Error where a kernel has failed since
// Host memory everywhere (cudaMallocManaged), and a wait behind every launch: tests may look at tensors' data().
void set_debug(bool on);
bool debug();

int64_t launches();                                 // kernels, products and copies so far
int64_t waits();                                    // how often the host has waited so far
void count_launch(const char* what);                // behind a launch; Error where it could not start

void gemm(Transpose form, const Product& product, real alpha, real beta);
void gemm_batch(Transpose form, const std::vector<Product>& products, real alpha, real beta);

}  // namespace minbert::cuda
