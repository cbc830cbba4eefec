// Matrix products in bf16: each number of A and B is rounded to 8 significant bits of a float's 24
// as it is copied, and processors that multiply such numbers do so in pairs: s += a0 b0 + a1 b1,
// with s in float. In one cycle they make twice as many multiply-adds as in fp32 (AVX512-BF16), or
// 16 times as many (AMX).
//
//   bf16    the upper half of a float: sign, exponent, 7 bits of fraction.
//   Copies  in blocks of 16 rows of A, or 16 columns of B, and 16 pairs of k, the size of AMX's
//           registers. Of A [16 rows][16 pairs]; of B [16 pairs][16 columns], so that a vector has
//           a pair for each of 16 columns of C. What lies beyond the matrix is 0.
//   Panel   two such blocks beside each other, and all of them along k: [k / 32][2][block].
//   Tile    a panel of A with one of B: 32 x 32 of C. One object for each kind of processor, and
//           one for none, a plain loop, with which tests check the copies anywhere.
//   Order   tiles are computed in blocks of columns and of k whose copies of B stay in the second
//           cache while the panels of A pass by.
#include "engine/gemm/bf16_gemm.h"

#include <omp.h>

#include <atomic>
#include <bit>
#include <cmath>

#include "engine/gemm/vectors.h"

#if defined(__AMX_BF16__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__AVX512BF16__) || defined(__AMX_BF16__)
#include <immintrin.h>
#endif

namespace minbert {

#ifndef MINBERT_DOUBLE
namespace {

using bf16 = uint16_t;
constexpr int64_t side = 16, depth = 32;            // of a block
constexpr int64_t block = side * depth;             // its numbers
static_assert(side % lanes == 0);                   // transpose_to() moves whole vectors of pairs
constexpr int64_t width = 2 * side;                 // of a panel; rows and columns of a tile
constexpr int64_t panels_of_b = 8;                  // that a panel of A meets in a pass

// y[0 .. 15] = x, y[16 .. 31] = z, each to the nearest, of two as near to the even one; a NaN stays
// one.
#if defined(__AVX512BF16__)
// The instruction takes numbers below 2^-126 for 0.
inline void rounded(const float* x, const float* z, bf16* y) {
  const auto both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(z), _mm512_loadu_ps(x));
  std::memcpy(y, &both, sizeof both);
}
#else
inline uint32_t to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  return nan ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
inline void rounded(const float* x, const float* z, bf16* y) {
#pragma omp simd
  for (int64_t i = 0; i < side; ++i) y[i] = bf16(to_bf16(x[i])), y[side + i] = bf16(to_bf16(z[i]));
}
#endif
inline float value(bf16 x) { return std::bit_cast<float>(uint32_t(x) << 16); }

// An operand: number t along k of its row (of A) or column (of B) i is
// numbers[i step_i + t step_t], and one of the two steps is 1.
struct Operand {
  const real* numbers;
  int64_t step_i, step_t;
  int64_t count, k;
  bool is_a;

  // The block of 16 from i0 on and 32 of k from t0 on. A pair is moved as the 32 bits of a float.
  void copy(int64_t i0, int64_t t0, bf16* out) const {
    const bool along_k = step_t == 1;                 // lines of x: along k, or else along i
    const real* x = numbers + i0 * step_i + t0 * step_t;
    int64_t line = along_k ? step_i : step_t;           // from one to the next
    alignas(64) float edge[block];
    alignas(64) bf16 pairs[block];
    const int64_t m = std::clamp(count - i0, int64_t(0), side), n = std::min(k - t0, depth);
    if (m < side || n < depth) {
      const int64_t lines = along_k ? m : n, length = along_k ? n : m, all = along_k ? depth : side;
      std::fill_n(edge, block, 0.0f);
      for (int64_t l = 0; l < lines; ++l) std::copy_n(x + l * line, length, edge + l * all);
      x = edge, line = all;
    }
    for (int64_t l = 0; l < side; ++l) {
      bf16* const line_of_pairs = pairs + l * depth;
      if (along_k) {                                // pairs[i][p]
        rounded(x + l * line, x + l * line + side, line_of_pairs);
      } else {                                      // pairs[p][i], of two lines
        alignas(64) bf16 both[depth];
        rounded(x + 2 * l * line, x + (2 * l + 1) * line, both);
#pragma omp simd
        for (int64_t i = 0; i < side; ++i)
          line_of_pairs[2 * i] = both[i], line_of_pairs[2 * i + 1] = both[side + i];
      }
    }
    // A's blocks are [i][pair], B's [pair][i]: turned where the lines ran the other way.
    if (along_k == is_a)
      std::copy_n(pairs, block, out);
    else
      transpose_to(reinterpret_cast<const float*>(pairs), side, side, side,
                   reinterpret_cast<float*>(out), side, false);
  }
};

// The pieces of work, begin to end-1 of n, that one thread does.
struct Share {
  int64_t begin, end;
  Share(int64_t n, int thread, int threads)
      : begin(n * thread / threads), end(n * (thread + 1) / threads) {}
};

// The copy of an operand: its panels one after the other.
struct Panels {
  int64_t count, blocks;                            // blocks of k
  bf16* memory = nullptr;
  explicit Panels(const Operand& x) : count(over(x.count, width)), blocks(over(x.k, depth)) {}
  int64_t size() const { return count * blocks * 2 * block; }
  bf16* at(int64_t i, int64_t t) const { return memory + (i * blocks + t) * 2 * block; }
  // Those blocks that are one thread's, in the order in which x's numbers stand in memory.
  void fill(const Operand& x, int thread, int threads) const {
    const bool along_k = x.step_t == 1;
    const Share mine(count * blocks, thread, threads);
    for (int64_t piece = mine.begin; piece < mine.end; ++piece) {
      const int64_t i = along_k ? piece / blocks : piece % count;
      const int64_t t = along_k ? piece % blocks : piece / count;
      for (int64_t half = 0; half < 2; ++half)
        x.copy((2 * i + half) * side, t * depth, at(i, t) + half * block);
    }
  }
};

// sums[32][32] = a panel of A times one of B, over `blocks` blocks of k. In AVX512-BF16's order.
struct PlainTile {
  static constexpr int64_t k_blocks = 32;           // at a time
  void operator()(const bf16* a, const bf16* b, int64_t blocks, float* sums) const {
    std::fill_n(sums, width * width, 0.0f);
    for (int64_t t = 0; t < blocks; ++t, a += 2 * block, b += 2 * block)
      for (int64_t i = 0; i < width; ++i)
        for (int64_t j = 0; j < width; ++j)
          for (int64_t p = 0; p < depth / 2; ++p) {
            const bf16* x = a + i * depth + 2 * p;
            const bf16* y = b + j / side * block + (p * side + j % side) * 2;
            float& sum = sums[i * width + j];
            sum = std::fma(value(x[1]), value(y[1]), sum);
            sum = std::fma(value(x[0]), value(y[0]), sum);
          }
  }
};

#if defined(__AMX_BF16__)
// Eight registers of 16 rows of 64 bytes: 0 to 3 hold sums, 4 and 5 blocks of A, 6 and 7 of B.
struct alignas(64) Registers {
  uint8_t palette = 1, rest[15] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Registers registers;

struct FastTile {
  static constexpr const char* name = "AMX";
  static constexpr int64_t k_blocks = 64;           // 1 MB of B, half of the second cache
  static constexpr int64_t least_rows = 40;         // of a product that is faster than in fp32
  // Linux wants to be asked before a process uses them (ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA).
  static bool found() { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; }
  // The fence: g++ 12 does not know that its tile loads read memory.
  FastTile() {
    _tile_loadconfig(&registers);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~FastTile() { _tile_release(); }
  void operator()(const bf16* a, const bf16* b, int64_t blocks, float* sums) const {
    constexpr size_t row = depth * sizeof(bf16), row_of_sums = width * sizeof(float);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t t = 0; t < blocks; ++t, a += 2 * block, b += 2 * block) {
      _tile_loadd(4, a, row);
      _tile_loadd(5, a + block, row);
      _tile_loadd(6, b, row);
      _tile_loadd(7, b + block, row);
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sums, row_of_sums);
    _tile_stored(1, sums + side, row_of_sums);
    _tile_stored(2, sums + side * width, row_of_sums);
    _tile_stored(3, sums + side * width + side, row_of_sums);
  }
};
#elif defined(__AVX512BF16__)
// 16 x 16 at a time: each of 16 vectors of sums belongs to a row of A, whose pair is the same for
// all columns.
struct FastTile {
  static constexpr const char* name = "AVX512-BF16";
  static constexpr int64_t k_blocks = 32;           // 512 KB of B
  static constexpr int64_t least_rows = 48;
  static bool found() { return true; }
  void operator()(const bf16* a, const bf16* b, int64_t blocks, float* sums) const {
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 2; ++j)
        multiply(a + i * block, b + j * block, blocks, sums + i * side * width + j * side);
  }

 private:
  static void multiply(const bf16* a, const bf16* b, int64_t blocks, float* sums) {
    __m512 sum[side] = {};
    for (int64_t t = 0; t < blocks; ++t, a += 2 * block, b += 2 * block)
      for (int64_t p = 0; p < depth / 2; ++p) {
        const auto columns = std::bit_cast<__m512bh>(_mm512_loadu_si512(b + p * depth));
#pragma GCC unroll 16
        for (int64_t i = 0; i < side; ++i) {
          int32_t pair;
          std::memcpy(&pair, a + i * depth + 2 * p, sizeof pair);
          const auto row = std::bit_cast<__m512bh>(_mm512_set1_epi32(pair));
          sum[i] = _mm512_dpbf16_ps(sum[i], row, columns);
        }
      }
#pragma GCC unroll 16
    for (int64_t i = 0; i < side; ++i) _mm512_storeu_ps(sums + i * width, sum[i]);
  }
};
#else
struct FastTile : PlainTile {
  static constexpr const char* name = "";
  static constexpr int64_t least_rows = 0;
  static bool found() { return false; }
};
#endif

// What C becomes: alpha op(A) op(B), to which C itself is added, or `bias` [n], or nothing.
struct Result {
  const Product& p;
  float alpha;
  bool add;
  const real* bias;                                 // nullptr: none

  // One tile, from row i0 and column j0 on. The first part of k begins with C, bias or 0; later
  // parts are added.
  void write(const float* sums, int64_t i0, int64_t j0, bool first) const {
    const int64_t rows = std::min(width, p.m - i0), cols = std::min(width, p.n - j0);
    for (int64_t i = 0; i < rows; ++i) {
      real* const c = p.c + (i0 + i) * p.ldc + j0;
      const real* const before = add || !first ? c : bias ? bias + j0 : nullptr;
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j)
        c[j] = alpha * sums[i * width + j] + (before ? before[j] : 0);
    }
  }
};

// A pass is a panel of A with 8 of B. A thread's passes follow each other, with all of k, so that
// no two threads write the same numbers of C.
template <class Tile>
void multiply(const Panels& a, const Panels& b, const Result& c, int thread, int threads) {
  const Tile tile;
  alignas(64) float sums[width * width];
  const Share mine(over(b.count, panels_of_b) * a.count, thread, threads);
  for (int64_t t = 0; t == 0 || t < a.blocks; t += Tile::k_blocks)
    for (int64_t pass = mine.begin; pass < mine.end; ++pass) {
      const int64_t i = pass % a.count, first = pass / a.count * panels_of_b;
      for (int64_t j = first; j < std::min(first + panels_of_b, b.count); ++j) {
        tile(a.at(i, t), b.at(j, t), std::min(Tile::k_blocks, a.blocks - t), sums);
        c.write(sums, i * width, j * width, t == 0);
      }
    }
}

// The calling thread's, kept for its later products: threads with many small products would wait
// for each other if each asked the pool.
bf16* memory_for_copies(int64_t numbers) {
  static thread_local Tensor kept;
  const int64_t floats = numbers / 2;
  if (!kept || kept.size() < floats) {
    kept = {};                                      // first gives back what it has
    kept = Tensor({floats}, Device::cpu);
  }
  return reinterpret_cast<bf16*>(kept.data());
}

template <class Tile>
void multiply(Transpose form, const Result& c) {
  const Product& p = c.p;
  MB_CHECK(!(c.add && c.bias), "gemm_bf16: C and a bias cannot both be added");
  const bool ta = form == Transpose::tn, tb = form == Transpose::nt;
  const Operand of_a{p.a, ta ? 1 : p.lda, ta ? p.lda : 1, p.m, p.k, true};
  const Operand of_b{p.b, tb ? p.ldb : 1, tb ? 1 : p.ldb, p.n, p.k, false};
  Panels a(of_a), b(of_b);
  a.memory = memory_for_copies(a.size() + b.size());
  b.memory = a.memory + a.size();
  if (omp_in_parallel()) {                          // the other threads have products of their own
    a.fill(of_a, 0, 1), b.fill(of_b, 0, 1);
    return multiply<Tile>(a, b, c, 0, 1);
  }
#pragma omp parallel if (p.m * p.n * p.k > 250000)       // less is not worth a second thread
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    a.fill(of_a, thread, threads), b.fill(of_b, thread, threads);
#pragma omp barrier
    multiply<Tile>(a, b, c, thread, threads);
  }
}

}  // namespace

const std::string& bf16_instructions() {
  static const std::string name = FastTile::found() ? FastTile::name : "";
  return name;
}
bool gains_by_bf16(const Product& p) {
  return !bf16_instructions().empty() && p.m >= FastTile::least_rows && p.n >= 32 && p.k >= 32;
}
void gemm_bf16(Transpose form, const Product& p, real alpha, bool add, const real* bias) {
  multiply<FastTile>(form, {p, alpha, add, bias});
}
void gemm_bf16_plain(Transpose form, const Product& p, real alpha, bool add, const real* bias) {
  multiply<PlainTile>(form, {p, alpha, add, bias});
}
#else
const std::string& bf16_instructions() {
  static const std::string none;
  return none;
}
bool gains_by_bf16(const Product&) { return false; }
void gemm_bf16(Transpose, const Product&, real, bool, const real*) {
  fail("no bf16 in a build in double");
}
void gemm_bf16_plain(Transpose form, const Product& p, real alpha, bool add, const real* bias) {
  gemm_bf16(form, p, alpha, add, bias);
}
#endif

}  // namespace minbert
