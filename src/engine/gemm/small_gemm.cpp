// Products of few rows, C = A B^T, such as y = x W^T of a few sentences. OpenBLAS copies both
// matrices into an order of its own first, which pays where many rows use the copy of each. Here A
// is copied, which is small, and B is read once, where it is.
//
//   Panel     a part of the copy, [k][rows of A]: as many rows as 2 vectors have numbers; the last
//             panel as many as 1 or half a vector has, if its rows fit.
//   Tile      a panel with 8 rows of B (6 where there are only 16 registers): the 16 vectors of
//             sums stay in registers along k. Each step loads 2 vectors of the panel and 8 numbers
//             of B, for 16 multiply-adds of vectors.
//   Fetching  memory answers after hundreds of cycles, and the processor does not see by itself
//             which rows come next: they come into the second cache while a tile of the first
//             panel is computed.
//   Blocks    k is cut so that a block of a panel stays in the core's first cache while rows of B
//             pass by it, and B so that its rows stay in the second cache while all panels pass.
//   Bound     8 rows: memory's rate, since each number of B serves 16 operations only. 32 rows and
//             more: arithmetic.
#include "engine/gemm/small_gemm.h"

#include <omp.h>

#include "engine/gemm/vectors.h"

namespace minbert {
namespace {

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int tile_rows = 8;                        // of 32 vector registers 16 hold sums
#else
constexpr int tile_rows = 6;                      // of 16 vector registers 12, 3 what is multiplied
#endif
constexpr int panel = 2 * lanes;
constexpr int half = std::max(vector_bytes / 2, 16) / int(sizeof(real));
constexpr int64_t panel_bytes = 24 << 10;           // of a panel, in one block of k
constexpr int64_t most_columns = 96;                // of C, in a block
constexpr int64_t line = 64 / sizeof(real);         // numbers in a line of the cache

// Calls f with the width of a panel that holds so many rows, as a constant.
template <class F>
auto with_width(int64_t rows, const F& f) {
  if (rows > lanes) return f(std::integral_constant<int, panel>());
  if (rows > half) return f(std::integral_constant<int, lanes>());
  return f(std::integral_constant<int, half>());
}

// sums[j][:] (+)= sum_t b[j][t] x[t][:] for the n rows of B in a tile and a panel x [k][width];
// `ahead` rows that come after these are fetched.
template <int width, int n>
[[gnu::always_inline]] inline void multiply_tile(const real* x, const real* b, int64_t ldb,
                                                 int64_t k, int ahead, bool add, real* sums) {
  constexpr int vectors = width > lanes ? 2 : 1;
  using Numbers [[gnu::vector_size(width / vectors * sizeof(real))]] = real;
  Numbers tile[n][vectors] = {};
  const auto step = [&](int64_t t) {
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v)
        tile[j][v] += reinterpret_cast<const Numbers*>(x)[t * vectors + v] * b[j * ldb + t];
  };
  int64_t t = 0;
  for (; t + line <= k; t += line) {
    for (int row = 0; row < ahead; ++row) __builtin_prefetch(b + (n + row) * ldb + t, 0, 2);
#pragma GCC unroll 8
    for (int64_t i = 0; i < line; ++i) step(t + i);
  }
  for (; t < k; ++t) step(t);
#pragma GCC unroll 8
  for (int j = 0; j < n; ++j)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      Numbers before;
      if (add)
        std::memcpy(&before, sums + j * panel + v * lanes, sizeof before), tile[j][v] += before;
      std::memcpy(sums + j * panel + v * lanes, &tile[j][v], sizeof before);
    }
}

// The same for all rows of B, tile by tile, then half a tile and single rows.
template <int width>
[[gnu::noinline]] void multiply_panel(const real* x, const real* b, int64_t ldb, int64_t rows,
                                      int64_t k, bool ahead, bool add, real* sums) {
  int64_t j = 0;
  const auto tiles = [&](auto n) {
    for (; j + n <= rows; j += n)
      multiply_tile<width, n>(x, b + j * ldb, ldb, k, ahead ? n : 0, add, sums + j * panel);
  };
  tiles(std::integral_constant<int, tile_rows>());
  tiles(std::integral_constant<int, tile_rows / 2>());
  tiles(std::integral_constant<int, 1>());
}

// The panels of A.
struct Panels {
  const Product& p;
  real* numbers;
  int64_t rows(int64_t i) const { return std::min<int64_t>(panel, p.m - i * panel); }
  real* begin(int64_t i) const { return numbers + i * panel * p.k; }
  void copy(int64_t i) const {
    with_width(rows(i), [&](auto width) {
      if (rows(i) < width) std::fill_n(begin(i), width * p.k, real(0));
      transpose_to(p.a + i * panel * p.lda, p.lda, rows(i), p.k, begin(i), width, false);
    });
  }
};

// Some columns of C. sums: [panels][n][panel]
void multiply_block(const Product& p, const Panels& a, real* sums, bool add) {
  const int64_t count = over(p.m, panel);
  const int64_t widest = with_width(a.rows(0), [](auto width) { return int64_t(width); });
  const int64_t k_block = panel_bytes / (widest * int64_t(sizeof(real)));
  for (int64_t t = 0; t < p.k; t += k_block)
    for (int64_t i = 0; i < count; ++i)
      with_width(a.rows(i), [&](auto width) {
        multiply_panel<width>(a.begin(i) + t * width, p.b + t, p.ldb, p.n,
                              std::min(k_block, p.k - t), i == 0, t > 0, sums + i * p.n * panel);
      });
  for (int64_t i = 0; i < count; ++i)
    transpose_to(sums + i * p.n * panel, panel, p.n, a.rows(i), p.c + i * panel * p.ldc, p.ldc,
                 add);
}

}  // namespace

void gemm_nt_few_rows(const Product& whole, bool add) {
  const int64_t count = over(whole.m, panel), threads = omp_get_max_threads();
  const Tensor numbers({count * panel * whole.k}, Device::cpu);
  const Tensor columns_of_c({count * panel * whole.n}, Device::cpu);
  const Panels a{whole, numbers.data()};
  real* const sums = columns_of_c.data();
  const int64_t blocks = over(over(whole.n, threads), most_columns) * threads;
  const int64_t step = over(over(whole.n, blocks), tile_rows) * tile_rows;
#pragma omp parallel for schedule(static) if (count > 1)
  for (int64_t i = 0; i < count; ++i) a.copy(i);
  const double work = double(whole.m) * double(whole.n) * double(whole.k);
#pragma omp parallel for schedule(static) if (work > 2e5)
  for (int64_t begin = 0; begin < whole.n; begin += step) {
    Product block = whole;
    block.n = std::min(step, whole.n - begin);
    block.b += begin * whole.ldb;
    block.c += begin;
    multiply_block(block, a, sums + begin * count * panel, add);
  }
}

}  // namespace minbert
