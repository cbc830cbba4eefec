// Products that are too small for OpenBLAS. It copies both matrices into an order of its own first, which pays where
// many rows use the copy of each. Here one matrix is copied, the other read in place.
//
//   Few rows  C = A B^T, such as y = x W^T of a few sentences: A is copied, which is small, and B read once.
//   Small     C = op(A) op(B), such as attention's, one for each sentence and head: op(B) is copied.
//   Panel     of what is copied: [k][2 vectors] numbers, of 2 vectors of its rows, or of 1 or half a vector where that
//             holds what is left of them.
//   Tile      a panel with 8 rows of the other matrix (6 where there are only 16 registers): the 16 vectors of sums
//             stay in registers along k. Each step loads 2 vectors of the panel and 8 numbers of the other matrix, for
//             16 multiply-adds of vectors.
//   Fetching  memory answers after hundreds of cycles, and the processor does not see by itself which rows come next.
//             Few rows: the next rows of B come into the second cache while a tile of the first panel is computed.
//             Small: the matrices of a later product.
//   Blocks    of few rows: k is cut so that a block of a panel stays in the core's first cache while rows of B pass by
//             it, and B so that its rows stay in the second cache while all panels pass.
//   Bound     8 rows: memory's rate, since each number of B serves 16 operations only. 32 rows and more: arithmetic.
#include "engine/small_gemm.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace minbert {
namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int tile_rows = 8;                        // of 32 vector registers 16 hold sums
#else
constexpr int tile_rows = 6;                        // of 16 vector registers 12, 3 what is multiplied
#endif
constexpr int lanes = vector_bytes / sizeof(real);
constexpr int panel = 2 * lanes;
constexpr int half = std::max(vector_bytes / 2, 16) / int(sizeof(real));
constexpr int64_t panel_bytes = 24 << 10;           // few rows: of a panel, in one block of k
constexpr int64_t most_columns = 96;                // few rows: of C, in a block
constexpr int64_t most = 512;                       // small: of rows of C, and of k
constexpr int64_t line = 64 / sizeof(real);         // numbers in a line of the cache

constexpr int64_t over(int64_t a, int64_t b) { return (a + b - 1) / b; }         // a / b, rounded up

template <int n>
struct Numbers {
  using Vector [[gnu::vector_size(n * sizeof(real))]] = real;
};

// The numbers x(i, t), t = 0 .. k-1, of the rows i of a matrix. row or step is 1.
struct Matrix {
  const real* data;
  int64_t row, step;
  const real* at(int64_t i, int64_t t) const { return data + i * row + t * step; }
  Matrix from(int64_t i) const { return {at(i, 0), row, step}; }
};

// c (+)= x
void copy_or_add(const Matrix& x, int64_t rows, int64_t cols, real* c, int64_t ldc, bool add) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) c[i * ldc + j] = add ? c[i * ldc + j] + *x.at(i, j) : *x.at(i, j);
}

// Transposes n vectors of n numbers: swaps blocks of d x d across the diagonal, for d = n/2, n/4, ..., 1. A shuffle of
// a and b takes number p of a, or, from p = n on, number p - n of b.
template <int n, int d, int... p>
[[gnu::always_inline]] inline void swap_blocks(typename Numbers<n>::Vector* x, std::integer_sequence<int, p...> all) {
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    if (i & d) continue;
    const auto a = x[i], b = x[i + d];
    x[i] = __builtin_shufflevector(a, b, (p & d ? n + p - d : p)...);
    x[i + d] = __builtin_shufflevector(a, b, (p & d ? n + p : p + d)...);
  }
  if constexpr (d > 1) swap_blocks<n, d / 2>(x, all);
}
template <int n>
[[gnu::always_inline]] inline void transpose(typename Numbers<n>::Vector* x) {
  swap_blocks<n, n / 2>(x, std::make_integer_sequence<int, n>());
}

// to [k][width] = x(i, t); 0 where there is no row, from `rows` on.
template <int width>
void copy_panel(const Matrix& x, int64_t rows, int64_t k, real* to) {
  if (x.row == 1) {
    for (int64_t t = 0; t < k; ++t, to += width) {
      if (rows >= width) std::memcpy(to, x.at(0, t), width * sizeof(real));
      else
        for (int i = 0; i < width; ++i) to[i] = i < rows ? *x.at(i, t) : 0;
    }
    return;
  }
  constexpr int n = std::min(width, lanes);
  using Vector = typename Numbers<n>::Vector;
  for (int64_t begin = 0; begin < k; begin += n)
    for (int first = 0; first < width; first += n) {
      const int64_t steps = std::min<int64_t>(n, k - begin);
      const bool whole = steps == n && first + n <= rows;
      Vector block[n];
      if (whole)
#pragma GCC unroll 16
        for (int i = 0; i < n; ++i) std::memcpy(block + i, x.at(first + i, begin), sizeof(Vector));
      else
        for (int i = 0; i < n; ++i)
          for (int t = 0; t < n; ++t) block[i][t] = first + i < rows && t < steps ? *x.at(first + i, begin + t) : 0;
      transpose<n>(block);
      real* const place = to + begin * width + first;
      if (steps == n)
#pragma GCC unroll 16
        for (int t = 0; t < n; ++t) std::memcpy(place + t * width, block + t, sizeof(Vector));
      else
        for (int t = 0; t < steps; ++t) std::memcpy(place + t * width, block + t, sizeof(Vector));
    }
}

// c(i, j) (+)= sums[j][i], turned over in blocks.
void copy_turned(const real* sums, int64_t rows, int64_t cols, real* c, int64_t ldc, bool add) {
  for (int64_t i = 0; i < rows; i += lanes)
    for (int64_t j = 0; j < cols; j += lanes) {
      const real* const from = sums + j * panel + i;
      real* const to = c + i * ldc + j;
      const int64_t height = std::min<int64_t>(lanes, rows - i), width = std::min<int64_t>(lanes, cols - j);
      if (height < lanes || width < lanes) {
        copy_or_add({from, 1, panel}, height, width, to, ldc, add);
        continue;
      }
      Numbers<lanes>::Vector block[lanes], before;
#pragma GCC unroll 16
      for (int t = 0; t < lanes; ++t) std::memcpy(block + t, from + t * panel, sizeof before);
      transpose<lanes>(block);
#pragma GCC unroll 16
      for (int t = 0; t < lanes; ++t) {
        if (add) std::memcpy(&before, to + t * ldc, sizeof before), block[t] += before;
        std::memcpy(to + t * ldc, block + t, sizeof before);
      }
    }
}

// Where sums go: row j at data + j * ld.
struct Result {
  real* data;
  int64_t ld;
  real alpha;
  bool add;
};

// to(j, :) (+)= alpha sum_t y(j, t) x(:, t) for the rows j < n of a tile and a panel of x; `ahead` rows that come after
// these are fetched.
template <int width, int n>
[[gnu::always_inline]] inline void multiply_tile(const real* x, Matrix y, int64_t k, int ahead, Result to) {
  constexpr int vectors = width > lanes ? 2 : 1;
  using Vector = typename Numbers<width / vectors>::Vector;
  Vector sums[n][vectors] = {};
  const auto step = [&](int64_t t) {
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v)
        sums[j][v] += reinterpret_cast<const Vector*>(x)[t * vectors + v] * *y.at(j, t);
  };
  int64_t t = 0;
  for (; t + line <= k; t += line) {
    for (int row = 0; row < ahead; ++row) __builtin_prefetch(y.at(n + row, t), 0, 2);
#pragma GCC unroll 8
    for (int64_t i = 0; i < line; ++i) step(t + i);
  }
  for (; t < k; ++t) step(t);
#pragma GCC unroll 8
  for (int j = 0; j < n; ++j)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      real* const place = to.data + j * to.ld + v * lanes;
      Vector sum = to.alpha * sums[j][v], before;
      if (to.add) std::memcpy(&before, place, sizeof before), sum += before;
      std::memcpy(place, &sum, sizeof sum);
    }
}

// The same for all rows of y, tile by tile, half a tile and single rows behind. After each tile meanwhile(begin, end),
// its rows. All in one function: a call's arguments in memory would wait for the last tile's stores.
template <int width, class F>
[[gnu::noinline]] void multiply_panel(const real* x, Matrix y, int64_t rows, int64_t k, bool ahead, Result to,
                                      const F& meanwhile) {
  int64_t j = 0;
  const auto tiles = [&](auto n) {
    for (; j + n <= rows; j += n) {
      multiply_tile<width, n>(x, y.from(j), k, ahead ? n : 0, {to.data + j * to.ld, to.ld, to.alpha, to.add});
      meanwhile(j, j + n);
    }
  };
  tiles(std::integral_constant<int, tile_rows>());
  tiles(std::integral_constant<int, tile_rows / 2>());
  tiles(std::integral_constant<int, 1>());
}

// Calls f with the width of a panel that holds so many rows, as a constant.
template <class F>
auto with_width(int64_t rows, const F& f) {
  if (rows > lanes) return f(std::integral_constant<int, panel>());
  if (rows > half) return f(std::integral_constant<int, lanes>());
  return f(std::integral_constant<int, half>());
}

// Few rows: the panels of A.
struct Panels {
  Matrix a;
  int64_t m, k, count;
  real* numbers;
  int64_t rows(int64_t i) const { return std::min<int64_t>(panel, m - i * panel); }
  real* at(int64_t i) const { return numbers + i * panel * k; }
  void copy(int64_t i) const {
    with_width(rows(i), [&](auto width) { copy_panel<width>(a.from(i * panel), rows(i), k, at(i)); });
  }
};

// Few rows: some columns of C. sums: [panels][n][panel]
void multiply_block(const Product& p, const Panels& a, real* sums, bool add) {
  const int64_t widest = with_width(a.rows(0), [](auto width) { return int64_t(width); });
  const int64_t k_block = panel_bytes / (widest * int64_t(sizeof(real)));
  for (int64_t t = 0; t < p.k; t += k_block)
    for (int64_t i = 0; i < a.count; ++i)
      with_width(a.rows(i), [&](auto width) {
        multiply_panel<width>(a.at(i) + t * width, {p.b + t, p.ldb, 1}, p.n, std::min(k_block, p.k - t), i == 0,
                              {sums + i * p.n * panel, panel, 1, t > 0}, [](int64_t, int64_t) {});
      });
  for (int64_t i = 0; i < a.count; ++i)
    copy_turned(sums + i * p.n * panel, a.rows(i), p.n, p.c + i * panel * p.ldc, p.ldc, add);
}

// Small: brings the share begin/whole .. end/whole of a product's matrices into the second cache. Inline, since g++
// drops calls of functions that only fetch.
[[gnu::always_inline]] inline void fetch_share(Transpose form, const Product& p, int64_t begin, int64_t end,
                                               int64_t whole) {
  const auto fetch = [=](const real* data, int64_t rows, int64_t cols, int64_t ld) {
    for (int64_t row = begin * rows / whole; row < end * rows / whole; ++row)
      for (int64_t i = 0; i < cols; i += line) __builtin_prefetch(data + row * ld + i, 0, 2);
  };
  const bool ta = form == Transpose::tn, tb = form == Transpose::nt;
  fetch(p.a, ta ? p.k : p.m, ta ? p.m : p.k, p.lda);
  fetch(p.b, tb ? p.n : p.k, tb ? p.k : p.n, p.ldb);
  fetch(p.c, p.m, p.n, p.ldc);
}

}  // namespace

void gemm_nt_few_rows(const Product& whole, bool add) {
  const int64_t count = over(whole.m, panel);
  const Tensor numbers({count * panel * whole.k}, Device::cpu), columns_of_c({count * panel * whole.n}, Device::cpu);
  const Panels a{{whole.a, whole.lda, 1}, whole.m, whole.k, count, numbers.data()};
  real* const sums = columns_of_c.data();
  const int64_t blocks = over(over(whole.n, omp_get_max_threads()), most_columns) * omp_get_max_threads();
  const int64_t step = over(over(whole.n, blocks), tile_rows) * tile_rows;
#pragma omp parallel for schedule(static) if (count > 1)
  for (int64_t i = 0; i < count; ++i) a.copy(i);
#pragma omp parallel for schedule(static) if (double(whole.m) * double(whole.n) * double(whole.k) > 2e5)
  for (int64_t begin = 0; begin < whole.n; begin += step) {
    Product block = whole;
    block.n = std::min(step, whole.n - begin);
    block.b += begin * whole.ldb;
    block.c += begin;
    multiply_block(block, a, sums + begin * count * panel, add);
  }
}

bool is_small(Transpose form, const Product& p) {
  return p.m >= 12 && p.m <= most && p.k <= most && p.k * p.n <= 1 << 16 &&
         (form == Transpose::nt || p.n % lanes == 0);
}

void gemm_small(Transpose form, const Product& p, real alpha, bool add, const Product* next) {
  MB_CHECK(p.m <= most && p.k <= most, "a product of {} rows and {} steps is not small", p.m, p.k);
  const Matrix a = form == Transpose::tn ? Matrix{p.a, 1, p.lda} : Matrix{p.a, p.lda, 1};
  const Matrix b = form == Transpose::nt ? Matrix{p.b, p.ldb, 1} : Matrix{p.b, 1, p.ldb};
  alignas(vector_bytes) real x[most * panel], ragged[most * panel];
  for (int64_t j = 0; j < p.n; j += panel) {
    const int64_t columns = std::min<int64_t>(panel, p.n - j);
    with_width(columns, [&](auto width) {
      copy_panel<width>(b.from(j), columns, p.k, x);
      const bool whole = columns == width;
      multiply_panel<width>(x, a, p.m, p.k, false,
                            whole ? Result{p.c + j, p.ldc, alpha, add} : Result{ragged, panel, alpha, false},
                            [&, fetches = next && j == 0](int64_t begin, int64_t end) {
                              if (fetches) fetch_share(form, *next, begin, end, p.m);
                            });
      if (!whole) copy_or_add({ragged, panel, 1}, p.m, columns, p.c + j, p.ldc, add);
    });
  }
}

}  // namespace minbert
