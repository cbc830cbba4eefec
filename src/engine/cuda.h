// The GPU, as the engine's host code sees it. In a build without CUDA=1 most of these throw an
// Error that says so.
//
// All work runs in one stream, in the order of the program: kernels, products and copies wait for
// each other there, and a freed block of memory may be used again at once, since its next user
// comes later in the same stream. The host waits only for results (to_host, synchronize), for
// memory of the card (allocate, free), and for copies to the device of more than 64 KB.
#pragma once

#include <cstdint>
#include <string>

#include "engine/gemm.h"

namespace minbert::cuda {

bool present();                                     // is there a GPU, of whatever kind?
void require();                     // Error that says what was looked for, unless a GPU can be used
std::string describe();             // "NVIDIA H200, 139 GiB, compute capability 9.0"

void* allocate(int64_t bytes);              // nullptr if the card is full; Error for other failures
void free(void* block);
// Bytes of the card. free: without the 1/128 that is kept for the driver to load kernels.
struct Memory {
  int64_t free, total;
};
Memory memory();

void to_device(void* device_data, const void* host_data, int64_t bytes);  // host_data may be reused
void to_host(void* host_data, const void* device_data, int64_t bytes);     // waits
void synchronize();                                 // waits; Error if a kernel has failed
// For tests that read data() of tensors: later allocations are in the host's memory, where kernels
// reach them (cudaMallocHost), and every launch waits for its kernel.
void set_debug(bool on);
bool debugging();

int64_t launches();                                 // kernels, products and copies so far
int64_t waits();                                    // how often the host has waited so far
void count_launch(const char* what);           // called after a launch; Error if it could not start

// As gemm and gemm_batch of gemm.h, in the precision of device.h. A batch is in fp32 if its
// products differ in size, or if an operand does not begin at a multiple of 16 bytes.
void gemm(Transpose form, const Product& product, real alpha, real beta);
void gemm_batch(Transpose form, const std::vector<Product>& products, real alpha, real beta);
// C = A B^T + bias on each row, added as C is written. false: cublasLt has no kernel for it, and
// nothing was done.
bool gemm_with_bias(const Product& product, const real* bias);

// gemm_batch by our own kernel, for products of any sizes, in fp32 (gemm/gemm_tiles.cpp).
void gemm_tiles(Transpose form, const std::vector<Product>& products, real alpha, real beta);

}  // namespace minbert::cuda
