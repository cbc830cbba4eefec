// C = A B^T for few rows of A, such as y = x W^T of one sentence: each row of B is read once, in place and in order.
//
//   Why     OpenBLAS copies all of B into an order of its own first. That pays where many rows of A use the copy; for
//           8 rows it takes longer than the product.
//   Bound   8 rows: memory's rate, since each number of B serves 16 operations only. 32 rows and more: arithmetic.
//   Tile    4 rows of A and 6 rows of B: 24 sums, each a vector of partial sums, stay in registers along k. 10 loads
//           feed 24 multiply-adds, so that loading does not hold up the arithmetic.
//   Ahead   while the tiles of 6 rows of B are computed, the next 6 rows come into the cache; each tile fetches its
//           share of them.
//   Block   k is cut into blocks, so that 6 rows of B (in float 18 KB) stay in the core's first cache while all of A
//           passes by them.
#include "engine/few_rows.h"

#include <algorithm>
#include <type_traits>

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
constexpr int tile_rows = 4;                        // of 32 vector registers 24 hold sums, 5 what is multiplied
#else
constexpr int tile_rows = 2;                        // of 16 registers 12 and 3
#endif
constexpr int columns = 6;
constexpr int64_t k_block = 768;
constexpr int lanes = vector_bytes / sizeof(real);

using Vector [[gnu::vector_size(vector_bytes)]] = real;
using InMemory [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(real))]] = real;

// Each vector holds lanes / width sums, each still spread over `width` neighbouring lanes. The result holds the sums of
// a, then those of b, each spread over half as many.
template <int width>
Vector fold(const Vector& a, const Vector& b) {
  using Lanes [[gnu::vector_size(vector_bytes)]] = std::conditional_t<sizeof(real) == 4, int32_t, int64_t>;
  constexpr int half = width / 2;
  constexpr auto lane = [](int i) { return i % (lanes / 2) / half * width + i % half + (i < lanes / 2 ? 0 : lanes); };
  Lanes low;
  for (int i = 0; i < lanes; ++i) low[i] = lane(i);
  return __builtin_shuffle(a, b, low) + __builtin_shuffle(a, b, low + half);
}

// The sum of all lanes of v[i] comes into lane i of v, counted through: v[i / lanes][i % lanes].
template <int count, int width = lanes>
void sum_lanes(Vector* v) {
  if constexpr (width > 1) {
#pragma GCC unroll 32
    for (int i = 0; i < count; i += 2) v[i / 2] = fold<width>(v[i], i + 1 < count ? v[i + 1] : Vector{});
    sum_lanes<(count + 1) / 2, width / 2>(v);
  }
}

// C[m,n] (+)= A[m,k] B[n,k]^T for m <= tile_rows and n <= columns, both known to the compiler. In each step along k,
// `ahead` rows of B that come later are fetched, from `next` on.
template <int m, int n>
void multiply_tile(const Product& p, bool add, const real* next, int ahead) {
  Vector sums[m * n] = {};
  int64_t t = 0;
  for (; t + lanes <= p.k; t += lanes) {
    for (int row = 0; row < ahead; ++row) __builtin_prefetch(next + row * p.ldb + t, 0, 2);
    Vector a[m];
#pragma GCC unroll 8
    for (int i = 0; i < m; ++i) a[i] = *reinterpret_cast<const InMemory*>(p.a + i * p.lda + t);
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {
      const Vector b = *reinterpret_cast<const InMemory*>(p.b + j * p.ldb + t);
#pragma GCC unroll 8
      for (int i = 0; i < m; ++i) sums[i * n + j] += a[i] * b;
    }
  }
  sum_lanes<m * n>(sums);
  const real* sum = reinterpret_cast<const real*>(sums);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      real c = sum[i * n + j];
      for (int64_t rest = t; rest < p.k; ++rest) c += p.a[i * p.lda + rest] * p.b[j * p.ldb + rest];
      real& place = p.c[i * p.ldc + j];
      place = add ? place + c : c;
    }
}

// All rows of A, tile_rows at a time, with n rows of B.
template <int n>
void multiply_strip(Product p, bool add) {
  const int64_t tiles = (p.m + tile_rows - 1) / tile_rows, k = p.k;
  const int ahead = int((n + tiles - 1) / tiles);
  for (int64_t begin = 0; begin < k; begin += k_block) {
    p.k = std::min(k_block, k - begin);
    const real* next = begin + p.k < k ? p.b + p.k : p.b - begin + n * p.ldb;
    for (int64_t i = 0; i < p.m; i += tile_rows) {
      Product tile = p;
      tile.a += i * p.lda;
      tile.c += i * p.ldc;
      const real* fetched = next + i / tile_rows * n / tiles * p.ldb;
      const bool sum = add || begin > 0;
      switch (std::min<int64_t>(tile_rows, p.m - i)) {
        case 4: multiply_tile<tile_rows, n>(tile, sum, fetched, ahead); break;
        case 3: multiply_tile<std::min(tile_rows, 3), n>(tile, sum, fetched, ahead); break;
        case 2: multiply_tile<2, n>(tile, sum, fetched, ahead); break;
        default: multiply_tile<1, n>(tile, sum, fetched, ahead);
      }
    }
    p.a += p.k;
    p.b += p.k;
  }
}

}  // namespace

void gemm_nt_few_rows(const Product& whole, bool add) {
  const int64_t strips = (whole.n + columns - 1) / columns;
#pragma omp parallel for schedule(static) if (double(whole.m) * double(whole.n) * double(whole.k) > 2e5)
  for (int64_t s = 0; s < strips; ++s) {
    Product strip = whole;
    strip.n = std::min<int64_t>(columns, whole.n - s * columns);
    strip.b += s * columns * whole.ldb;
    strip.c += s * columns;
    if (strip.n == columns) {
      multiply_strip<columns>(strip, add);
      continue;
    }
    for (int64_t j = 0; j < strip.n; ++j) {
      multiply_strip<1>(strip, add);
      strip.b += whole.ldb;
      strip.c += 1;
    }
  }
}

}  // namespace minbert
