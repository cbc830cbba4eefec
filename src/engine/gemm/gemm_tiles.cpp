// Products of many sizes in one launch on a GPU: attention over sentences that differ in length.
// cuBLAS takes them, too, but its host code spends some ten microseconds on each size.
//
// A block of 64 threads computes a tile of C, 32 x 32; a thread 4 x 4 of its elements. For 16 of
// the k at a time the block copies what it needs of A and B to shared memory, where each number is
// read 32 times.
#include "engine/launch.h"

#if defined(MINBERT_CUDA) && defined(MINBERT_GPU_CODE)
#include "engine/storage.h"

namespace minbert::cuda {
namespace {

constexpr int side = 32, depth = 16, threads = 64;

// Products of one size whose matrices follow each other at equal steps, as those of a sentence's
// heads do: so the GPU is told a sentence, not each of its heads.
struct Series {
  Product first;
  int64_t step_a, step_b, step_c;
  int count, tiles_m, tiles_n, first_tile;          // tiles are numbered through all series
  HD int tiles_of_product() const { return tiles_m * tiles_n; }
};

std::vector<Series> series_of(const std::vector<Product>& products) {
  std::vector<Series> list;
  for (size_t i = 0; i < products.size(); ++i) {
    const Product& p = products[i];
    if (!list.empty() && same_sizes(p, products[i - 1])) {
      Series& s = list.back();
      const Product& before = products[i - 1];
      const int64_t a = p.a - before.a, b = p.b - before.b, c = p.c - before.c;
      if (s.count == 1) s.step_a = a, s.step_b = b, s.step_c = c;
      if (a == s.step_a && b == s.step_b && c == s.step_c) {
        ++s.count;
        continue;
      }
    }
    const auto tiles = [](int64_t n) { return int((n + side - 1) / side); };
    const int begin = list.empty() ? 0 : list.back().first_tile +
                                             list.back().count * list.back().tiles_of_product();
    list.push_back({p, 0, 0, 0, 1, tiles(p.m), tiles(p.n), begin});
  }
  return list;
}

template <Transpose form>
struct Tiles {
  const Series* list;
  int series_count, tile_count;
  real alpha, beta;

  __device__ void operator()() const {
    for (int tile = int(blockIdx.x); tile < tile_count; tile += int(gridDim.x)) {
      int low = 0, high = series_count;             // low: the last that begins before or at `tile`
      while (high - low > 1) {
        const int middle = (low + high) / 2;
        (list[middle].first_tile <= tile ? low : high) = middle;
      }
      const Series& series = list[low];
      const int place = tile - series.first_tile, i = place / series.tiles_of_product(),
                tile_of_product = place % series.tiles_of_product();
      Product p = series.first;
      p.a += i * series.step_a, p.b += i * series.step_b, p.c += i * series.step_c;
      compute(p, tile_of_product / series.tiles_n * side, tile_of_product % series.tiles_n * side);
    }
  }

 private:
  // The tile of C from row i0 and column j0 on
  __device__ void compute(const Product& p, int64_t i0, int64_t j0) const {
    __shared__ real a[depth][side + 1], b[depth][side + 1];
    const int thread = int(threadIdx.x), row = thread / 8, col = thread % 8;
    real sum[4][4] = {};
    for (int64_t k0 = 0; k0 < p.k; k0 += depth) {
      // Neighbouring threads copy what lies side by side.
      for (int e = thread; e < side * depth; e += threads) {
        constexpr bool ta = form == Transpose::tn, tb = form == Transpose::nt;
        const int ka = ta ? e / side : e % depth, i = ta ? e % side : e / depth;
        const int kb = tb ? e % depth : e / side, j = tb ? e / depth : e % side;
        const int64_t of_a = ta ? (k0 + ka) * p.lda + i0 + i : (i0 + i) * p.lda + k0 + ka;
        const int64_t of_b = tb ? (j0 + j) * p.ldb + k0 + kb : (k0 + kb) * p.ldb + j0 + j;
        a[ka][i] = k0 + ka < p.k && i0 + i < p.m ? p.a[of_a] : real(0);
        b[kb][j] = k0 + kb < p.k && j0 + j < p.n ? p.b[of_b] : real(0);
      }
      __syncthreads();
      for (int k = 0; k < depth; ++k)
        for (int u = 0; u < 4; ++u)
          for (int v = 0; v < 4; ++v) sum[u][v] += a[k][row + 8 * u] * b[k][col + 8 * v];
      __syncthreads();
    }
    for (int u = 0; u < 4; ++u)
      for (int v = 0; v < 4; ++v) {
        const int64_t i = i0 + row + 8 * u, j = j0 + col + 8 * v;
        if (i >= p.m || j >= p.n) continue;
        real& c = p.c[i * p.ldc + j];
        c = alpha * sum[u][v] + (beta == 0 ? real(0) : beta * c);
      }
  }
};

}  // namespace

void gemm_tiles(Transpose form, const std::vector<Product>& products, real alpha, real beta) {
  const std::vector<Series> list = series_of(products);
  if (list.empty()) return;
  const Series& last = list.back();
  const int tiles = last.first_tile + last.count * last.tiles_of_product();
  const auto copy =
      Storage::copy_of(list.data(), int64_t(list.size() * sizeof(Series)), Device::cuda);
  const auto launch = [&]<Transpose f>() {
    run_on_gpu<threads>(tiles, Tiles<f>{static_cast<const Series*>(copy->data()), int(list.size()),
                                        tiles, alpha, beta});
  };
  if (form == Transpose::nn) launch.template operator()<Transpose::nn>();
  else if (form == Transpose::nt) launch.template operator()<Transpose::nt>();
  else launch.template operator()<Transpose::tn>();
}

}  // namespace minbert::cuda
#endif
