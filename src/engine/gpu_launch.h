// How kernels run on a GPU. Kernel files alone see this, through launch.h.
//
// A warp (32 threads) takes a row where rows are short, else a block does. Neighbouring threads
// take neighbouring elements, so that a warp reads whole lines. Sums and maxima are trees in a
// fixed order: the same on every run.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/cuda.h"

namespace minbert {

template <class Combine>
__device__ real combine_warp(real v, Combine operation) {          // every thread gets the result
  for (int step = 16; step > 0; step /= 2) v = operation(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}
struct Sum {
  HD real operator()(real a, real b) const { return a + b; }
};
struct Max {
  HD real operator()(real a, real b) const { return b > a ? b : a; }
};

// The threads that share a row. lane(): this thread's index; lanes(): their number; sync(): a
// barrier.
struct Warp {
  __device__ static int lane() { return int(threadIdx.x) % 32; }
  __device__ static int lanes() { return 32; }
  __device__ static int64_t first_row() {
    return int64_t(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  }
  __device__ static int64_t rows_at_once() { return int64_t(gridDim.x) * (blockDim.x / 32); }
  __device__ static void sync() { __syncwarp(); }
  template <class Combine>
  __device__ static real combine(real v, Combine operation) {
    return combine_warp(v, operation);
  }
};
struct Block {
  __device__ static int lane() { return int(threadIdx.x); }
  __device__ static int lanes() { return int(blockDim.x); }
  __device__ static int64_t first_row() { return blockIdx.x; }
  __device__ static int64_t rows_at_once() { return gridDim.x; }
  __device__ static void sync() { __syncthreads(); }
  template <class Combine>
  __device__ static real combine(real v, Combine operation) {
    __shared__ real results[32];                    // of each warp
    v = combine_warp(v, operation);
    __syncthreads();                                // every thread has read the previous results
    if (threadIdx.x % 32 == 0) results[threadIdx.x / 32] = v;
    __syncthreads();
    v = results[0];
    for (unsigned w = 1; w < blockDim.x / 32; ++w) v = operation(v, results[w]);
    return v;
  }
};

template <class Threads>
struct GpuTeam {
  __device__ void sync() const { Threads::sync(); }
  template <class F>
  __device__ void each(int n, F f) const {
    for (int i = Threads::lane(); i < n; i += Threads::lanes()) f(i);
  }
  template <class F>
  __device__ real sum(int n, F f) const {
    real s = 0;
    for (int i = Threads::lane(); i < n; i += Threads::lanes()) s += f(i);
    return Threads::combine(s, Sum{});
  }
  template <class F>
  __device__ real max(int n, F f) const {
    real m = -std::numeric_limits<real>::infinity();
    for (int i = Threads::lane(); i < n; i += Threads::lanes()) m = Max{}(m, f(i));
    return Threads::combine(m, Max{});
  }
};

// Bodies of kernels: the work of one thread.
template <class Threads, class Program>
struct RowsBody {
  int64_t rows;
  Program program;
  __device__ void operator()() const {
    for (int64_t row = Threads::first_row(); row < rows; row += Threads::rows_at_once()) {
      program(GpuTeam<Threads>{}, row);
      Threads::sync();                              // before the next row
    }
  }
};
template <class F>
struct ElementsBody {
  int64_t n;
  F f;
  __device__ void operator()() const {
    const int64_t first = blockIdx.x * int64_t(blockDim.x) + threadIdx.x,
                  step = int64_t(gridDim.x) * blockDim.x;
    for (int64_t i = first; i < n; i += step) f(i);
  }
};

#ifdef __CUDACC__
// The bound on the threads of a block tells the compiler how many registers each may take.
template <int threads, class Body>
__global__ void __launch_bounds__(threads) kernel(const Body body) {
  body();
}
#endif

template <int threads, class Body>
void run_on_gpu(int64_t blocks, const Body& body) {
  const unsigned grid = unsigned(std::min<int64_t>(blocks, 1 << 20));
#ifdef __CUDACC__
  kernel<threads><<<grid, threads>>>(body);
#else
  // The same on the CPU, thread by thread, is in tests/rehearsal.
  rehearse(grid, threads, body);
#endif
  cuda::count_launch("a kernel");
}

template <class Program>
void rows_on_gpu(int64_t rows, int64_t elements, const Program& program) {
  if (rows == 0) return;
  const int64_t length = elements / rows;
  if (length <= 1024) run_on_gpu<128>((rows + 3) / 4, RowsBody<Warp, Program>{rows, program});
  else if (length <= 8192) run_on_gpu<256>(rows, RowsBody<Block, Program>{rows, program});
  else run_on_gpu<1024>(rows, RowsBody<Block, Program>{rows, program});
}

template <class F>
void elements_on_gpu(int64_t n, const F& f) {
  if (n > 0) run_on_gpu<256>((n + 255) / 256, ElementsBody<F>{n, f});
}

// Sums of columns: each of up to 128 slices of the rows is summed by itself; then the slices' sums
// are added.
template <class Sums>
struct SumsOfSlices {
  Sums sums;
  int64_t rows_of_slice;
  real* slices;                                     // [slices, groups, cols]
  __device__ void operator()(int64_t k) const {
    const int64_t slice = k / sums.cols, col = k % sums.cols, begin = slice * rows_of_slice;
    const int64_t end = begin + rows_of_slice < sums.rows ? begin + rows_of_slice : sums.rows;
    real* result = slices + slice * sums.groups * sums.cols + col;
    int64_t row = begin;
    real s = 0;       // in the rows' order, as with groups, but four are on their way at a time
    for (; !sums.group && row + 4 <= end; row += 4)
      s = s + sums.f(row, col) + sums.f(row + 1, col) + sums.f(row + 2, col) + sums.f(row + 3, col);
    for (int g = 0; g < sums.groups; ++g) result[g * sums.cols] = s;
    for (; row < end; ++row)
      result[(sums.group ? sums.group[row] : 0) * sums.cols] += sums.f(row, col);
  }
};
struct AddSlices {                                  // sum i over all slices
  const real* slices;
  int64_t count, size;                              // size: groups x cols
  Target sums;
  template <class Team>
  __device__ void operator()(Team team, int64_t i) const {
    const real s = team.sum(int(count), [=, *this](int k) { return slices[k * size + i]; });
    team.each(1, [=, *this](int) { sums(i, s); });
  }
};
template <class Sums>
void column_sums_on_gpu(const Sums& sums) {
  const int64_t slices = std::clamp<int64_t>(sums.rows / 32, 1, 128);
  const int64_t size = sums.groups * sums.cols;
  const int64_t rows_of_slice = (sums.rows + slices - 1) / slices;
  const Tensor parts({slices, size}, Device::cuda);
  elements_on_gpu(slices * sums.cols, SumsOfSlices<Sums>{sums, rows_of_slice, parts.data()});
  rows_on_gpu(size, size * slices, AddSlices{parts.data(), slices, size, sums.sums});
}

}  // namespace minbert
