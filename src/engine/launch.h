// Launching kernels: one source for the CPU and the GPU. A kernel is a functor. It works on elements:
//
//   struct Square {                                   // y_i = x_i^2
//     HD void operator()(real x, real& y) const { y = x * x; }
//   };
//   launch_map(device, n, Square{}, x.data(), Target(y));
//
// or on a row, with a team of threads for the loops over the row's elements:
//
//   struct Center {                                   // y_i = x_i - mean(x)
//     const real* x;
//     real* y;
//     int cols;
//     template <class Team>
//     HD void operator()(Team team, int64_t row) const {
//       const int n = cols;
//       const real* in = x + row * n;
//       real* out = y + row * n;
//       const real mean = team.sum(n, [=](int i) { return in[i]; }) / real(n);
//       team.each(n, [=](int i) { out[i] = in[i] - mean; });
//     }
//   };
//   launch_rows(x, Center{x.data(), y.data(), int(x.cols())});
//
// launch_column_sums adds up rows, column by column; launch_elements calls f(i). Sums run in a fixed
// order. On the CPU, OpenMP threads share the rows, and a SerialTeam visits a row's elements with SIMD.
// On a GPU a warp or a block takes a row, and its threads (lanes) share the elements (gpu_launch.h).
// So a row program
//   - does not depend on the order of the elements, and never writes one element from two lanes;
//   - calls team.sync() before one lane reads what another lane wrote;
//   - copies members into locals for its lambdas to capture: the compiler then knows that writing to an
//     array changes no pointer or size, and vectorises the loop.
// HD (minbert/random.h) marks functions for both devices. Every .cpp of src/ that includes this file is a
// kernel file: with CUDA=1 nvcc compiles it (-x cu) for both devices.
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
  HD void sync() const {}
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

// The array that a kernel writes: its results replace the elements (a new tensor), or are added to them
// (a gradient with earlier contributions, see Sink).
struct Target {
  real* data;
  bool add;
  HD Target(real* array, bool adds) : data(array), add(adds) {}
  Target(const Tensor& t) : data(t.data()), add(false) {}
  Target(const Sink& gradient) : data(gradient.tensor.data()), add(gradient.add) {}
  HD void operator()(int64_t i, real v) const { data[i] = add ? data[i] + v : v; }
};

struct InPlace {                                    // an array whose elements a kernel reads and overwrites
  real* data;
};

// The machinery of launch_map (below). A GPU thread reads and writes four neighbours in one access.
struct alignas(16) Four {
  real v[4];
};
template <class F, class... Arrays>
struct Map {
  F f;
  std::tuple<Arrays...> arrays;
  HD void operator()(int64_t i) const { apply<real>(i); }
  template <class V>
  HD void apply(int64_t i) const {                  // V real: element i; V Four: elements 4 i .. 4 i + 3
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
    return read<V>(array.data, i);
  }
  template <class V>
  HD static V read(const Target&, int64_t) {
    return {};
  }
  template <class V>
  HD static void write(const real*, int64_t, const V&) {}
  template <class V>
  HD static void write(const InPlace& array, int64_t i, const V& v) {
    reinterpret_cast<V*>(array.data)[i] = v;
  }
  template <class V>
  HD static void write(const Target& target, int64_t i, V v) {
    if (target.add) {
      V before = read<V>(target.data, i);
      for (int j = 0; j < width<V>; ++j) element(v, j) += element(before, j);
    }
    reinterpret_cast<V*>(target.data)[i] = v;
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

// Runs program(team, row) for every row. elements: their number in all rows; it decides whether CPU
// threads are worth starting, and whether a GPU gives a row to a warp or to a block.
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
    const F each = f;                               // a local copy: writing to an array cannot change it
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) each(i);
  }
}

// launch_map(device, n, f, x, InPlace{y}, Target(z)) calls f(x[i], y[i], z[i]) for every i in 0 .. n-1:
// x[i] is read, y[i] read and overwritten, z[i] written, or added to where the Target says so.
template <class F, class... Arrays>
void launch_map(Device device, int64_t n, const F& f, Arrays... arrays) {
  const Map<F, Arrays...> map{f, {arrays...}};
#ifdef MINBERT_GPU_CODE
  if (device == Device::cuda) return map_on_gpu(n, map);
#endif
  launch_elements(device, n, map);
}

// Sums over the rows of each group, column by column:  sums[group[row], col] (+)= f(row, col).
// group == nullptr: all rows are of group 0. The CPU adds rows in their order, whatever the number of
// threads; a GPU adds them in slices of fixed size.
template <class F>
struct ColumnSums {
  int64_t rows, cols;
  int groups;
  const int32_t* group;                             // [rows] or nullptr
  Target sums;                                      // [groups, cols]
  F f;
  HD void zero(int64_t col) const {
    for (int g = 0; g < groups && !sums.add; ++g) sums.data[g * cols + col] = 0;
  }
  HD void operator()(int64_t col) const {           // one GPU thread sums a column where rows are few
    zero(col);
    for (int64_t row = 0; row < rows; ++row)
      sums.data[(group ? group[row] : 0) * cols + col] += f(row, col);
  }
};

template <class F>
void launch_column_sums(Device device, int64_t rows, int64_t cols, int groups, const int32_t* group,
                        Target target, const F& f) {
  const ColumnSums<F> sums{rows, cols, groups, group, target, f};
#ifdef MINBERT_GPU_CODE
  if (device == Device::cuda) return column_sums_on_gpu(sums);
#else
  needs_gpu_code(device);
#endif
  constexpr int64_t block = 64;                     // columns that a thread sums at a time
#pragma omp parallel for schedule(static) if (rows * cols >= parallel_threshold)
  for (int64_t begin = 0; begin < cols; begin += block) {
    const int64_t end = cols - begin < block ? cols : begin + block;
    const F each = f;
    for (int64_t col = begin; col < end; ++col) sums.zero(col);
    for (int64_t row = 0; row < rows; ++row) {
      real* line = target.data + (group ? group[row] : 0) * cols;
#pragma omp simd
      for (int64_t col = begin; col < end; ++col) line[col] += each(row, col);
    }
  }
}

struct Element {                                    // f of plain sums
  const real* x;
  int64_t cols;
  HD real operator()(int64_t row, int64_t col) const { return x[row * cols + col]; }
};
inline void add_rows(const Tensor& x, const Target& sums) {          // sums [cols] (+)= x's rows
  launch_column_sums(x.device(), x.rows(), x.cols(), 1, nullptr, sums, Element{x.data(), x.cols()});
}

}  // inline namespace

}  // namespace minbert
