// A rehearsal of the GPU: the part of CUDA's runtime that minbert uses, played by the CPU.
//
// With -DMINBERT_CUDA -DMINBERT_REHEARSAL -Itests/rehearsal g++ compiles the very code that nvcc compiles for a GPU,
// and it runs: every thread of every block for itself, up to the next barrier. It shows wrong indices, missing or
// divergent barriers, races, host code that touches device memory, kernels that are handed host memory, copies awaited
// too late. It says nothing about speed or rounding, nor of a fence that is missing: one CPU plays all threads.
//
//   MINBERT_REHEARSAL_ORDER     forward, backward or shuffled: the order of blocks, warps and threads between barriers.
//                               Results that differ between orders come from a race.
//   MINBERT_REHEARSAL_MEMORY    bytes of device memory (1 GiB)      MINBERT_REHEARSAL_DEVICES   0: there is no GPU
//   MINBERT_REHEARSAL_DRIVER    the driver's version (13000)        MINBERT_REHEARSAL_ARCH      of the GPU (9.0)
//
// Names, signatures and numbers are CUDA's own; its documentation holds. A kernel's local arrays may take some 200 KB.
#pragma once

#include <cstddef>
#include <cstdint>

#define CUDART_VERSION 13000
#define __host__
#define __device__
#define __global__
#define __forceinline__
#define __shared__ static thread_local             // one block runs at a time, on one thread; it finds NaN there

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
inline uint3 threadIdx{}, blockIdx{};
inline dim3 blockDim{}, gridDim{};

namespace rehearsal {
void launch(unsigned blocks, unsigned threads, void (*body)(const void*), const void* arguments, size_t bytes);
void exchange(unsigned mask, void* value, size_t bytes, unsigned source);    // the value of lane `source` of the warp
template <class T>
T exchange(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= 8);
  exchange(mask, &value, sizeof value, source < 32 ? source : threadIdx.x % 32);
  return value;
}
}  // namespace rehearsal

// What kernel<<<blocks, threads>>>(...) does. The body calls the kernel and holds its arguments by value, [=].
template <class Body>
void rehearse(unsigned blocks, unsigned threads, const Body& body) {
  Body arguments = body;
  __builtin_clear_padding(&arguments);              // what stands in gaps is no argument
  rehearsal::launch(blocks, threads, [](const void* b) { (*static_cast<const Body*>(b))(); }, &arguments, sizeof body);
}

void __syncthreads();
void __syncwarp(unsigned mask = ~0u);
template <class T>                                 // from a lane that takes no part, where CUDA promises nothing: NaN
T __shfl_sync(unsigned mask, T value, int lane) { return rehearsal::exchange(mask, value, unsigned(lane) % 32); }
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask) {
  return rehearsal::exchange(mask, value, threadIdx.x % 32 ^ unsigned(lane_mask));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta) {
  return rehearsal::exchange(mask, value, threadIdx.x % 32 + delta);
}

enum cudaError_t {
  cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35, cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101, cudaErrorNotReady = 600
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();                    // and forgets it
cudaError_t cudaPeekAtLastError();

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int major, minor, multiProcessorCount, warpSize, maxThreadsPerBlock;
};
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

// Memory is full of NaN at first. Behind the end of each allocation, rounded up to 16 bytes, lies a page that nobody
// may touch; the host may not touch cudaMalloc's at all. Inside, the first touch of an allocation by a kernel is a
// SIGSEGV that opens it (gdb: handle SIGSEGV nostop noprint).
cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaMallocManaged(void** memory, size_t bytes, unsigned flags = 1);
cudaError_t cudaMallocHost(void** memory, size_t bytes);
template <class T>
cudaError_t cudaMalloc(T** memory, size_t bytes) { return cudaMalloc(reinterpret_cast<void**>(memory), bytes); }
template <class T>
cudaError_t cudaMallocManaged(T** memory, size_t bytes, unsigned flags = 1) {
  return cudaMallocManaged(reinterpret_cast<void**>(memory), bytes, flags);
}
template <class T>
cudaError_t cudaMallocHost(T** memory, size_t bytes) {
  return cudaMallocHost(reinterpret_cast<void**>(memory), bytes);
}
cudaError_t cudaFree(void* memory);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemGetInfo(size_t* free, size_t* total);

// All streams are one. Kernels and cuBLAS run at once; a copy from or to cudaMallocHost's memory waits for the next of
// them, for another kind of copy, or for somebody who waits for it. Until then its goal on the host is full of NaN.
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault
};
constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1, cudaEventDefault = 0, cudaEventDisableTiming = 2;
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr);
cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t = nullptr);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);     // while copies wait: cudaErrorNotReady, once
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);
