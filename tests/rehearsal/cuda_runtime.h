// A rehearsal of the GPU: the part of CUDA's runtime that minbert uses, simulated on the CPU. It is here because CI has
// no GPU; with one there, these files can go.
//
// With -DMINBERT_CUDA -DMINBERT_REHEARSAL -Itests/rehearsal g++ compiles the same code that nvcc compiles for a GPU.
// Each thread of each block runs by itself up to the next barrier. This finds wrong indices, missing or divergent
// barriers, races, host code that touches device memory, and kernels that get host memory. It
// says nothing about speed, rounding or missing memory fences: one CPU runs all threads.
//
//   MINBERT_REHEARSAL_ORDER     forward, backward or shuffled: the order of blocks, warps and threads between barriers.
//                               Results that differ between orders come from a race.
//   MINBERT_REHEARSAL_MEMORY    bytes of device memory (1 GiB)      MINBERT_REHEARSAL_DEVICES   0: there is no GPU
//   MINBERT_REHEARSAL_DRIVER    the driver's version (13000)        MINBERT_REHEARSAL_ARCH      of the GPU (9.0)
//
// Names, signatures and numbers are CUDA's; see its documentation. A kernel's local arrays may take some 200 KB.
#pragma once

#include <cstddef>
#include <cstdint>

#define __host__
#define __device__
#define __shared__ static thread_local             // one block runs at a time, on one thread; filled with NaN before

struct uint3 { unsigned x; };                      // minbert uses one dimension
inline uint3 threadIdx{}, blockIdx{}, blockDim{}, gridDim{};

namespace rehearsal {
void launch(unsigned blocks, unsigned threads, void (*body)(const void*), const void* arguments, size_t bytes);
void exchange(unsigned mask, void* value, size_t bytes, unsigned source);    // the value of lane `source` of the warp
}  // namespace rehearsal

// Runs kernel<<<blocks, threads>>>(...). The body calls the kernel and holds its arguments by value, [=].
template <class Body>
void rehearse(unsigned blocks, unsigned threads, const Body& body) {
  Body arguments = body;
  __builtin_clear_padding(&arguments);              // bytes of padding are no arguments
  rehearsal::launch(blocks, threads, [](const void* b) { (*static_cast<const Body*>(b))(); }, &arguments, sizeof body);
}

void __syncthreads();
void __syncwarp();
template <class T>                                 // from a lane that the block does not have: NaN
T __shfl_xor_sync(unsigned mask, T value, int lane_mask) {
  static_assert(sizeof(T) <= 8);
  rehearsal::exchange(mask, &value, sizeof value, (threadIdx.x ^ unsigned(lane_mask)) % 32);
  return value;
}

enum cudaError_t {
  cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35, cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101
};
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();                    // and clears it

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem;
  int major, minor;
};
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

// New memory is filled with NaN. After the end of each allocation, rounded up to 16 bytes, comes a page that no code
// may touch; the host may not touch memory of cudaMalloc at all. A kernel's first access to an allocation raises a
// SIGSEGV, whose handler opens it (gdb: handle SIGSEGV nostop noprint).
cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaMallocHost(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaFreeHost(void* memory);
enum cudaMemoryType { cudaMemoryTypeHost = 1, cudaMemoryTypeDevice = 2 };
struct cudaPointerAttributes {
  cudaMemoryType type;
};
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);

// There is one stream. Kernels, cuBLAS and copies run at once.
using cudaStream_t = struct CUstream_st*;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
