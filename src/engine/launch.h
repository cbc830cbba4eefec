// Launching kernels: one source for the CPU and the GPU. A kernel is a functor. It works on
// elements:
//
//   struct Square {                                   // y_i = x_i^2
//     const real* x;
//     Target y;
//     HD void operator()(int64_t i) const { y(i, x[i] * x[i]); }
//   };
//   launch_elements(device, n, Square{x.data(), y});
//
// or on a row, with a team of threads for the loops over the row's elements:
//
//   struct Center {                                   // y_i = x_i - mean(x)
//     template <class Team>
//     HD void operator()(Team team, int n, const real* x, real* y) const {
//       const real mean = team.sum(n, [=](int i) { return x[i]; }) / real(n);
//       team.each(n, [=](int i) { y[i] = x[i] - mean; });
//     }
//   };
//   launch_rows(x, Center{}, x, y);                   // the first x: how many rows and columns
//
// n is the length of a row. After the functor come its arrays; for each row the functor receives of
//   a tensor              a pointer to its row; a tensor of one row serves all rows; none: nullptr
//   a Sink                a Target: y(i, v) sets element i of its row, or adds to it
//   Indices               the row's index
//   Grouped{w, group}     a pointer to row group[row] of w
//   RowNumber{}           the row's number
// launch_column_sums adds up rows, column by column. Sums run in a fixed order. On the CPU, OpenMP
// threads share the rows, and a SerialTeam visits a row's elements with SIMD. On a GPU a warp or a
// block takes a row, and its threads (lanes) share the elements (gpu_launch.h). So a kernel on rows
//   - does not depend on the order of the elements, and never writes one element from two lanes;
//   - calls team.sync() before one lane reads what another lane wrote;
//   - copies members into locals for its lambdas to capture: a member might lie in the array that
//     is written, and be read anew for each element; a local does not, so the loop is vectorised.
// HD (minbert/random.h) marks functions for both devices. Every .cpp of src/ that includes this
// file is a kernel file: with CUDA=1 nvcc compiles it (-x cu) for both devices.
#pragma once

#include <omp.h>

#include <algorithm>

#include "engine/arithmetic.h"
#include "engine/rows.h"

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

}  // namespace minbert

#if defined(__CUDACC__) || defined(MINBERT_REHEARSAL)
#define MINBERT_GPU_CODE
#include "engine/gpu_launch.h"
#endif

namespace minbert {
// Two namespaces, so that files compiled by g++ (CPU launchers) and by nvcc (both) link into one
// program.
#ifdef MINBERT_GPU_CODE
inline namespace both_devices {
#else
inline namespace cpu_alone {
template <class... Arguments>
[[noreturn]] void rows_on_gpu(const Arguments&...) {
  fail("a kernel for a GPU in a file that nvcc has not compiled");
}
inline constexpr auto elements_on_gpu = [](const auto&... arguments) { rows_on_gpu(arguments...); };
inline constexpr auto column_sums_on_gpu = elements_on_gpu;
#endif

// Under this many elements a loop is not worth a second thread.
constexpr int64_t parallel_threshold = 16384;

// Runs program(team, row) for every row. elements: their number in all rows; it decides whether CPU
// threads are worth starting, and whether a GPU gives a row to a warp or to a block.
template <class Program>
void launch_rows(Device device, int64_t rows, int64_t elements, const Program& program) {
  if (device == Device::cuda) return rows_on_gpu(rows, elements, program);
  if (omp_in_parallel()) {          // inside of a loop over parts: this thread does its part's rows
    for (int64_t row = 0; row < rows; ++row) program(SerialTeam{}, row);
    return;
  }
#pragma omp parallel for schedule(static) if (elements >= parallel_threshold)
  for (int64_t row = 0; row < rows; ++row) program(SerialTeam{}, row);
}

template <class F, class... Arrays>
void launch_rows(const Grid& grid, const F& f, const Arrays&... arrays) {
  launch_rows(grid.device, grid.rows, grid.rows * grid.cols, on_rows(f, grid, arrays...));
}

// Runs f(i) for every i in 0 .. n-1.
template <class F>
void launch_elements(Device device, int64_t n, const F& f) {
  if (device == Device::cuda) return elements_on_gpu(n, f);
  constexpr int64_t chunk = 4096;
#pragma omp parallel for schedule(static) if (n >= parallel_threshold)
  for (int64_t begin = 0; begin < n; begin += chunk) {
    const int64_t end = n - begin < chunk ? n : begin + chunk;
    const F each = f;                          // a local copy: writing to an array cannot change it
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) each(i);
  }
}

// Sums over the rows of each group, column by column:  sums[group[row], col] (+)= f(row, col).
// group == nullptr: all rows are of group 0. The CPU adds rows in their order, whatever the number
// of threads; a GPU adds them in slices of fixed size.
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
  HD void operator()(int64_t col) const {         // one GPU thread sums a column where rows are few
    zero(col);
    for (int64_t row = 0; row < rows; ++row)
      sums.data[(group ? group[row] : 0) * cols + col] += f(row, col);
  }
};

template <class F>
void launch_column_sums(Device device, int64_t rows, int64_t cols, int groups, const int32_t* group,
                        Target target, const F& f) {
  const ColumnSums<F> sums{rows, cols, groups, group, target, f};
  if (device == Device::cuda) return column_sums_on_gpu(sums);
  // Columns that a thread sums at a time: its share of them, whole cache lines, and sums that fit
  // in its first cache
  const int64_t share = (cols + omp_get_max_threads() - 1) / omp_get_max_threads();
  const int64_t block = std::clamp<int64_t>((share + 63) / 64 * 64, 64, 4096);
#pragma omp parallel for schedule(static) if (rows * cols >= parallel_threshold)
  for (int64_t begin = 0; begin < cols; begin += block) {
    const int64_t end = cols - begin < block ? cols : begin + block;
    const F each = f;
    for (int64_t col = begin; col < end; ++col) sums.zero(col);
    int64_t row = 0;
    // Four rows at a time take a quarter of the loads and stores of sums.
    for (; !group && row + 4 <= rows; row += 4) {
      real* line = target.data;
#pragma omp simd
      for (int64_t col = begin; col < end; ++col)
        line[col] = line[col] + each(row, col) + each(row + 1, col) + each(row + 2, col) +
                    each(row + 3, col);
    }
    for (; row < rows; ++row) {
      real* line = target.data + (group ? group[row] : 0) * cols;
#pragma omp simd
      for (int64_t col = begin; col < end; ++col) line[col] += each(row, col);
    }
  }
}

// sums[group[row], col] (+)= f(col, of each array its row), over x's rows; without group: sums
// [cols].
template <class F, class... Arrays>
void launch_column_sums(const Grid& x, const Indices& group, const Sink& sums, const F& f,
                        const Arrays&... arrays) {
  const int groups = int(sums.tensor.size() / std::max<int64_t>(x.cols, 1));
  launch_column_sums(x.device, x.rows, x.cols, groups, group.data(x.device), sums,
                     on_rows(f, x, arrays...));
}
struct Element {                                    // f of plain sums
  HD real operator()(int64_t col, const real* x) const { return x[col]; }
};
inline void add_rows(const Tensor& x, const Sink& sums, const Indices& group = {}) {
  launch_column_sums(x, group, sums, Element{}, x);
}

}  // inline namespace

}  // namespace minbert
