// Vectors of the processor, and transposition by them: what small_gemm.cpp and bf16_gemm.cpp share.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "minbert/tensor.h"

namespace minbert {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif
constexpr int lanes = vector_bytes / sizeof(real);
using Vector [[gnu::vector_size(vector_bytes)]] = real;

constexpr int64_t over(int64_t a, int64_t b) { return (a + b - 1) / b; }        // a / b, rounded up

// Transposes a block of `lanes` vectors: swaps blocks of d x d across the diagonal, for d = lanes /
// 2, lanes / 4, ..., 1. A shuffle of a and b takes number p of a, or, from p = lanes on, number p -
// lanes of b.
template <int d, int... p>
[[gnu::always_inline]] inline void transpose(Vector* x, std::integer_sequence<int, p...> all) {
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    if (i & d) continue;
    const Vector a = x[i], b = x[i + d];
    x[i] = __builtin_shufflevector(a, b, (p & d ? lanes + p - d : p)...);
    x[i + d] = __builtin_shufflevector(a, b, (p & d ? lanes + p : p + d)...);
  }
  if constexpr (d > 1) transpose<d / 2>(x, all);
}

// y[j][i] (+)= x[i][j] for i < rows and j < cols, block by block
inline void transpose_to(const real* x, int64_t ldx, int64_t rows, int64_t cols, real* y,
                         int64_t ldy, bool add) {
  for (int64_t i = 0; i < rows; i += lanes)
    for (int64_t j = 0; j < cols; j += lanes) {
      const real* from = x + i * ldx + j;
      real* to = y + j * ldy + i;
      if (rows - i < lanes || cols - j < lanes) {
        for (int64_t r = 0; r < std::min<int64_t>(lanes, rows - i); ++r)
          for (int64_t c = 0; c < std::min<int64_t>(lanes, cols - j); ++c)
            to[c * ldy + r] = from[r * ldx + c] + (add ? to[c * ldy + r] : 0);
        continue;
      }
      Vector block[lanes], before;
#pragma GCC unroll 16
      for (int t = 0; t < lanes; ++t) std::memcpy(block + t, from + t * ldx, vector_bytes);
      transpose<lanes / 2>(block, std::make_integer_sequence<int, lanes>());
#pragma GCC unroll 16
      for (int t = 0; t < lanes; ++t) {
        if (add) std::memcpy(&before, to + t * ldy, vector_bytes), block[t] += before;
        std::memcpy(to + t * ldy, block + t, vector_bytes);
      }
    }
}

}  // namespace minbert
