// Launching kernels: one source for the CPU and the GPU.
//
// A kernel is a *row program*: a functor whose operator()(Team team, int64_t row) handles one row, using the
// team for every loop over the row's elements. On the CPU, OpenMP threads share the rows and a SerialTeam loops
// with SIMD; on the GPU a row is a warp's or a block's, whose threads share its elements (gpu_launch.h). A program may
// not depend on the order in which elements are visited, two threads never write the same element, and between one
// lane's write and another's read stands team.sync(). Where rows do not matter, a kernel is a function of an index,
// f(i), or of the elements that stand there (launch_map). Sums run in a fixed order; no atomics.
//
// HD (minbert/random.h) marks what runs on both devices. A program copies the members that a lambda reads into locals
// first: captured, they are the lambda's own, and the compiler knows that no write changes them.
//
// Every .cpp of src/ that includes this file is a kernel file: with CUDA=1 nvcc compiles it (-x cu) for both devices.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "engine/vector_math.h"
#include "minbert/autograd.h"
#include "minbert/random.h"

namespace minbert {

// One thread that visits a row's elements in order.
struct SerialTeam {
  HD void sync() const {}                           // a program calls it before one lane reads what another wrote
  template <class F>
  HD void each(int n, F f) const {
#ifndef __CUDA_ARCH__
#pragma omp simd
#endif
    for (int i = 0; i < n; ++i) f(i);
  }
  template <class F>
  HD real sum(int n, F f) const {
    real s = 0;
#ifndef __CUDA_ARCH__
#pragma omp simd reduction(+ : s)
#endif
    for (int i = 0; i < n; ++i) s += f(i);
    return s;
  }
  template <class F>
  HD real max(int n, F f) const {                   // n >= 1; NaN is not propagated
    real m = f(0);
#ifndef __CUDA_ARCH__
#pragma omp simd reduction(max : m)
#endif
    for (int i = 1; i < n; ++i) {
      const real v = f(i);
      m = v > m ? v : m;
    }
    return m;
  }
};

// Where a kernel's result goes: overwritten, as a new tensor is, or added to.
struct Target {
  real* at;
  bool add;
  HD Target(real* place, bool adds) : at(place), add(adds) {}
  Target(const Tensor& t) : at(t.data()), add(false) {}
  Target(const Sink& gradient) : at(gradient.to.data()), add(gradient.add) {}
  HD void operator()(int64_t i, real v) const { at[i] = add ? at[i] + v : v; }
};

struct InPlace {                                    // an array whose elements a kernel reads and overwrites
  real* at;
};

struct alignas(16) Four {                           // neighbours, read and written in one access
  real v[4];
};
// What launch_map does: f takes the elements that stand at i, those of an InPlace and the result for a Target by
// reference. at<Four>(q) does it for the elements 4 q .. 4 q + 3.
template <class F, class... Arrays>
struct Map {
  F f;
  std::tuple<Arrays...> arrays;
  HD void operator()(int64_t i) const { at<real>(i); }
  template <class V>
  HD void at(int64_t i) const {
    each<V>(i, std::index_sequence_for<Arrays...>{});
  }

 private:
  template <class V, size_t... k>
  HD void each(int64_t i, std::index_sequence<k...>) const {
    V values[] = {read<V>(std::get<k>(arrays), i)...};
    for (int j = 0; j < width<V>; ++j) f(element(values[k], j)...);
    (write(std::get<k>(arrays), i, values[k]), ...);
  }
  template <class V>
  static constexpr int width = int(sizeof(V) / sizeof(real));
  template <class V>
  HD static real& element(V& v, int j) {
    return reinterpret_cast<real*>(&v)[j];
  }
  template <class V>
  HD static V read(const real* array, int64_t i) {
    return reinterpret_cast<const V*>(array)[i];
  }
  template <class V>
  HD static V read(const InPlace& array, int64_t i) {
    return read<V>(array.at, i);
  }
  template <class V>
  HD static V read(const Target&, int64_t) {
    return {};
  }
  template <class V>
  HD static void write(const real*, int64_t, const V&) {}
  template <class V>
  HD static void write(const InPlace& array, int64_t i, const V& v) {
    reinterpret_cast<V*>(array.at)[i] = v;
  }
  template <class V>
  HD static void write(const Target& to, int64_t i, V v) {
    if (to.add) {
      V before = read<V>(to.at, i);
      for (int j = 0; j < width<V>; ++j) element(v, j) += element(before, j);
    }
    reinterpret_cast<V*>(to.at)[i] = v;
  }
};

}  // namespace minbert

#if defined(__CUDACC__) || defined(MINBERT_REHEARSAL)
#define MINBERT_GPU_CODE
#include "engine/gpu_launch.h"
#endif

namespace minbert {
// Two namespaces, so that files compiled by g++ (CPU launchers) and by nvcc (both) link into one program.
#ifdef MINBERT_GPU_CODE
inline namespace both_devices {
#else
inline namespace cpu_alone {
#endif

// Under this many elements a loop is not worth a second thread.
constexpr int64_t parallel_threshold = 16384;

inline void needs_gpu_code(Device device) {
  MB_CHECK(device == Device::cpu, "a kernel for a GPU in a file that nvcc has not compiled");
}

// Runs program(team, row) for every row. elements: how many there are in all rows, to judge whether threads are worth
// it and whether a row is a warp's or a block's.
template <class Program>
void launch_rows(Device device, int64_t rows, int64_t elements, const Program& program) {
#ifdef MINBERT_GPU_CODE
  if (device == Device::cuda) return rows_on_gpu(rows, elements, program);
#else
  needs_gpu_code(device);
#endif
#pragma omp parallel for schedule(static) if (elements >= parallel_threshold)
  for (int64_t row = 0; row < rows; ++row) program(SerialTeam{}, row);
}

template <class Program>
void launch_rows(const Tensor& t, const Program& program) {      // for every row of t
  launch_rows(t.device(), t.rows(), t.size(), program);
}

// Runs f(i) for every i in 0 .. n-1.
template <class F>
void launch_elements(Device device, int64_t n, const F& f) {
#ifdef MINBERT_GPU_CODE
  if (device == Device::cuda) return elements_on_gpu(n, f);
#else
  needs_gpu_code(device);
#endif
  constexpr int64_t chunk = 4096;
#pragma omp parallel for schedule(static) if (n >= parallel_threshold)
  for (int64_t begin = 0; begin < n; begin += chunk) {
    const int64_t end = n - begin < chunk ? n : begin + chunk;
    const F each = f;                               // its own copy: the compiler knows that no write changes it
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) each(i);
  }
}

// Runs f(a_i, b_i, ...) for every i in 0 .. n-1. An array is a pointer (read), an InPlace or a Target. A GPU's threads
// read and write four neighbours at once, where alignment allows.
template <class F, class... Arrays>
void launch_map(Device device, int64_t n, const F& f, Arrays... arrays) {
  const Map<F, Arrays...> map{f, {arrays...}};
#ifdef MINBERT_GPU_CODE
  if (device == Device::cuda) return map_on_gpu(n, map);
#endif
  launch_elements(device, n, map);
}

// The sums of one column over the rows, group by group:  to[group[row], col] (+)= f(row, col).
// group == nullptr: all rows are of group 0. The order of the sum is fixed: that of the rows, whatever the number of
// threads; on a GPU slice by slice of them.
template <class F>
struct ColumnSums {
  int64_t rows, cols;
  int groups;
  const int32_t* group;                             // [rows] or nullptr
  Target to;                                        // [groups, cols]
  F f;
  HD void zero(int64_t col) const {
    for (int g = 0; g < groups && !to.add; ++g) to.at[g * cols + col] = 0;
  }
  HD void operator()(int64_t col) const {           // a whole column: a GPU thread's, where rows are few
    zero(col);
    for (int64_t row = 0; row < rows; ++row) to.at[(group ? group[row] : 0) * cols + col] += f(row, col);
  }
};

template <class F>
void launch_column_sums(Device device, int64_t rows, int64_t cols, int groups, const int32_t* group, Target to,
                        const F& f) {
  const ColumnSums<F> sums{rows, cols, groups, group, to, f};
#ifdef MINBERT_GPU_CODE
  if (device == Device::cuda) return column_sums_on_gpu(sums);
#else
  needs_gpu_code(device);
#endif
  constexpr int64_t block = 64;                     // columns a thread takes at a time, walking down all rows
#pragma omp parallel for schedule(static) if (rows * cols >= parallel_threshold)
  for (int64_t begin = 0; begin < cols; begin += block) {
    const int64_t end = cols - begin < block ? cols : begin + block;
    const F each = f;
    for (int64_t col = begin; col < end; ++col) sums.zero(col);
    for (int64_t row = 0; row < rows; ++row) {
      real* line = to.at + (group ? group[row] : 0) * cols;
#pragma omp simd
      for (int64_t col = begin; col < end; ++col) line[col] += each(row, col);
    }
  }
}

}  // inline namespace

// The f of plain sums.
struct Element {
  const real* x;
  int64_t cols;
  HD real operator()(int64_t row, int64_t col) const { return x[row * cols + col]; }
};

}  // namespace minbert
