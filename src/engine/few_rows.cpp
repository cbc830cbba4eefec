// C = A B^T for few rows of A, such as y = x W^T of a few sentences: B is read in place.
//
//   Why     OpenBLAS copies both matrices into an order of its own first. That pays where many rows of A use the copy
//           of B; for 8 rows it takes longer than the product. Here only A is copied, which is small.
//   Tile    2 vectors of rows of A, a number of each row, and 6 rows of B: the 12 sums are 6 columns of C and stay in
//           registers along k. Each step loads 2 vectors of A and 6 numbers of B, for 12 multiply-adds.
//   Panel   2 vectors of rows of A, or 1 or half a vector where that holds what is left of them. k is cut into blocks,
//           so that one of a panel stays in the core's first cache while rows of B pass by it.
//   Block   so many rows of B that they stay in the core's second cache while all panels pass.
//   Bound   8 rows: memory's rate, since each number of B serves 16 operations only. 32 rows and more: arithmetic. The
//           next rows of B come into the second cache while a tile of the first panel is computed.
#include "engine/few_rows.h"

#include <omp.h>

#include <algorithm>

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
constexpr int columns = 8;                          // of 32 vector registers 16 hold sums
#else
constexpr int columns = 6;                          // of 16 vector registers 12, 3 what is multiplied
#endif
constexpr int lanes = vector_bytes / sizeof(real);
constexpr int64_t panel = 2 * lanes;                // rows of A
constexpr int64_t half = std::max(vector_bytes / 2, 16) / sizeof(real);
constexpr int64_t panel_bytes = 24 << 10;           // of a panel, in one block of k
constexpr int64_t most_columns = 96;                // of C, in a block
constexpr int64_t line = 64 / sizeof(real);         // numbers in a line of the cache

constexpr int64_t over(int64_t a, int64_t b) { return (a + b - 1) / b; }         // a / b, rounded up

// A [m,k] by panels: [k][width] numbers each, 0 where A has no row.
struct Panels {
  int64_t m, k, count;
  real* numbers;
  int64_t width(int64_t i) const {
    const int64_t rows = m - i * panel;
    return rows > lanes ? panel : rows > half ? lanes : half;
  }
  real* at(int64_t i, int64_t t) const { return numbers + i * panel * k + t * width(i); }
  void copy(const Product& p, int64_t i) const {
    const int64_t w = width(i), rows = std::min(panel, m - i * panel);
    const real* from = p.a + i * panel * p.lda;
    for (int64_t begin = 0; begin < k; begin += line) {
      real* to = at(i, begin);
      const int64_t steps = std::min(line, k - begin);
      for (int64_t row = 0; row < w; ++row)
        for (int64_t t = 0; t < steps; ++t) to[t * w + row] = row < rows ? from[row * p.lda + begin + t] : 0;
    }
  }
};

struct Rows {                                       // of B, from step t on
  const real* data;
  int64_t ld;
};

// to[n][panel] (+)= k steps of a panel of A with n rows of B; `ahead` rows that come after these are fetched.
template <int width, int n>
[[gnu::noinline]] void multiply_tile(const real* a, Rows b, int64_t k, int ahead, bool add, real* to) {
  constexpr int vectors = width > lanes ? 2 : 1;
  using Vector [[gnu::vector_size(width / vectors * sizeof(real))]] = real;
  Vector sums[n][vectors] = {};
  const auto step = [&](int64_t t) {
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v)
        sums[j][v] += reinterpret_cast<const Vector*>(a)[t * vectors + v] * b.data[j * b.ld + t];
  };
  int64_t t = 0;
  for (; t + line <= k; t += line) {
    for (int row = 0; row < ahead; ++row) __builtin_prefetch(b.data + (n + row) * b.ld + t, 0, 2);
#pragma GCC unroll 8
    for (int64_t i = 0; i < line; ++i) step(t + i);
  }
  for (; t < k; ++t) step(t);
#pragma GCC unroll 8
  for (int j = 0; j < n; ++j)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      Vector& place = reinterpret_cast<Vector*>(to + j * panel)[v];
      place = add ? place + sums[j][v] : sums[j][v];
    }
}

template <int n>
void multiply_tile(int64_t width, const real* a, Rows b, int64_t k, int ahead, bool add, real* to) {
  if (width == panel) multiply_tile<panel, n>(a, b, k, ahead, add, to);
  else if (width == lanes) multiply_tile<lanes, n>(a, b, k, ahead, add, to);
  else multiply_tile<half, n>(a, b, k, ahead, add, to);
}

// Some columns of C. sums: [panels][n][panel]
void multiply_block(const Product& p, const Panels& a, real* sums, bool add) {
  const int64_t k_block = panel_bytes / (a.width(0) * int64_t(sizeof(real)));
  for (int64_t t = 0; t < p.k; t += k_block)
    for (int64_t i = 0; i < a.count; ++i)
      for (int64_t j = 0; j < p.n;) {
        const Rows b{p.b + j * p.ldb + t, p.ldb};
        const int64_t steps = std::min(k_block, p.k - t);
        real* to = sums + (i * p.n + j) * panel;
        const bool whole = j + columns <= p.n;
        if (whole) multiply_tile<columns>(a.width(i), a.at(i, t), b, steps, i == 0 ? columns : 0, t > 0, to);
        else multiply_tile<1>(a.width(i), a.at(i, t), b, steps, 0, t > 0, to);
        j += whole ? columns : 1;
      }
  for (int64_t row = 0; row < p.m; ++row)
    for (int64_t j = 0; j < p.n; ++j) {
      const real sum = sums[(row / panel * p.n + j) * panel + row % panel];
      real& place = p.c[row * p.ldc + j];
      place = add ? place + sum : sum;
    }
}

}  // namespace

void gemm_nt_few_rows(const Product& whole, bool add) {
  const int64_t count = over(whole.m, panel);
  const Tensor numbers({count * panel * whole.k}, Device::cpu), columns_of_c({count * panel * whole.n}, Device::cpu);
  const Panels a{whole.m, whole.k, count, numbers.data()};
  real* const sums = columns_of_c.data();
  const int64_t blocks = over(over(whole.n, omp_get_max_threads()), most_columns) * omp_get_max_threads();
  const int64_t step = over(over(whole.n, blocks), columns) * columns;
#pragma omp parallel for schedule(static) if (count > 1)
  for (int64_t i = 0; i < count; ++i) a.copy(whole, i);
#pragma omp parallel for schedule(static) if (double(whole.m) * double(whole.n) * double(whole.k) > 2e5)
  for (int64_t begin = 0; begin < whole.n; begin += step) {
    Product block = whole;
    block.n = std::min(step, whole.n - begin);
    block.b += begin * whole.ldb;
    block.c += begin;
    multiply_block(block, a, sums + begin * count * panel, add);
  }
}

}  // namespace minbert
