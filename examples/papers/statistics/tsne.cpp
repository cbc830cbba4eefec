// t-SNE, exact.
//
//   Paper       van der Maaten & Hinton, Visualizing Data using t-SNE, JMLR 9, 2008; (eq.), (sec.),
//               (alg.) are its own
//   Shapes      x [N,H]   d, p, q, w [N,N]   y, gain, step, dC/dy [N,2]
//   Gains       Jacobs' learning rates as in the authors' code: a coordinate's gain grows by .2
//               while it keeps its direction, and shrinks to .8 of itself, but not below .01, when
//               it turns around. Their code also moves the map's mean to 0 after each iteration.
//   Deviations  Algorithm 1 prints + η dC/dY; descent needs a minus, as in the authors' code. The
//               paper first reduces its images to 30 dimensions by PCA, to save time; here the
//               distances are those of x.
#include "papers/statistics/tsne.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/arithmetic.h"
#include "engine/parallel.h"
#include "files/progress.h"
#include "minbert/random.h"
#include "papers/statistics/points.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

using Vector = std::vector<double>;

// d_j = |x_i - x_j|² for each j ≠ i. As |x_i|² + |x_j|² - 2 x_i·x_j, by a matrix product, they
// would save a twentieth of the map's time (N = 4,000, H = 128), but equal points would get
// rounding errors as their distances.
Vector distances(std::span<const real> x, size_t N, size_t i) {
  const size_t H = x.size() / N;
  const real* const x_i = x.data() + i * H;
  Vector d;
  d.reserve(N - 1);
  for (size_t j = 0; j < N; ++j) {
    if (j == i) continue;
    const real* const x_j = x.data() + j * H;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t k = 0; k < H; ++k)
      sum += (double(x_i[k]) - double(x_j[k])) * (double(x_i[k]) - double(x_j[k]));
    d.push_back(sum);
  }
  return d;
}

// p_j|i = exp(-β d_j) / Σ_k exp(-β d_k)     β = 1 / 2σ_i²                                    (eq.1)
// log Perp = -Σ_j p_j|i log p_j|i = log Σ_j exp(-β d_j) + β Σ_j p_j|i d_j                   (sec.2)
// β by bisection; Perp falls as β rises. Where many points lie at the least distance, Perp can stay
// above the one asked for: the bisection ends with equal p for these points.
Vector conditional_probabilities(Vector d, double log_perplexity) {
  const double least = *std::ranges::min_element(d);
  double mean = 0;
  for (double& d_j : d) {
    // p stays the same, and some exp(-β d) is 1, whatever β
    d_j -= least;
    mean += d_j / double(d.size());
  }
  Vector p(d.size());
  double beta = mean > 0 ? 1 / mean : 1, low = 0, high = std::numeric_limits<double>::infinity(),
         sum = 0;
  for (int step = 0; step < 100; ++step) {
    double sum_d = 0;
    sum = 0;
#pragma omp simd reduction(+ : sum, sum_d)
    for (size_t j = 0; j < d.size(); ++j) {
      p[j] = std::exp(-beta * d[j]);
      sum += p[j];
      sum_d += p[j] * d[j];
    }
    const double above = std::log(sum) + beta * sum_d / sum - log_perplexity;
    if (std::abs(above) < 1e-5) break;
    (above > 0 ? low : high) = beta;
    beta = std::isinf(high) ? 2 * beta : (low + high) / 2;
  }
  for (double& p_j : p) p_j /= sum;
  return p;
}

// y [N,2] column by column: loops over points read neighbours
struct Coordinates {
  std::vector<real> u, v;
  explicit Coordinates(const Tensor& y) : u(size_t(y.rows())), v(u.size()) {
    for (size_t i = 0; i < u.size(); ++i) {
      u[i] = y.data()[2 * i];
      v[i] = y.data()[2 * i + 1];
    }
  }
};

}  // namespace

// p_ij = (p_j|i + p_i|j) / 2N                                                             (sec.3.1)
// Less than 1e-20 counts as 0: denormal numbers make the gradient 35 times slower (N = 4,000, H =
// 128).
Tensor joint_probabilities(const Tensor& x, double perplexity) {
  const size_t N = size_t(x.rows());
  MB_CHECK(
      perplexity >= 1 && std::isfinite(perplexity),
      "t-SNE: the perplexity is {}; it is a number of neighbours, at least 1 (5 to 50 are usual)",
      perplexity);
  MB_CHECK(double(N) >= 3 * perplexity, "t-SNE: {} points are too few for perplexity {}, {}; {} {}",
           N, perplexity, "which needs at least three times as many",
           "take more points, or --perplexity", std::max<size_t>(N / 3, 1));
  std::vector<real> copy;
  const std::span<const real> points = checked_points("t-SNE", x, copy);
  const Tensor P(Shape{int64_t(N), int64_t(N)}, Device::cpu);
  real* const p = P.data();
  parallel_each(N, [&](size_t i) {
    const Vector others = conditional_probabilities(distances(points, N, i), std::log(perplexity));
    for (size_t j = 0; j < N; ++j) p[i * N + j] = j == i ? 0 : real(others[j - (j > i)]);
  });
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < N; ++i)
    for (size_t j = 0; j < i; ++j) {
      const real p_ij = (p[i * N + j] + p[j * N + i]) / real(2 * N);
      p[i * N + j] = p[j * N + i] = p_ij < real(1e-20) ? 0 : p_ij;
    }
  return P;
}

// w_ij = 1 / (1 + |y_i - y_j|²)     Z = Σ_{i≠j} w_ij     q_ij = w_ij / Z                     (eq.4)
// C = KL(P‖Q) = Σ_{i≠j} p_ij log(p_ij / q_ij)                                             (sec.3.1)
double kl_divergence(const Tensor& P, const Tensor& y) {
  const Coordinates map(y);
  const size_t N = map.u.size();
  Vector Z_i(N), C_i(N);
  const auto distance = [&map](size_t i, size_t j) {
    const double u = double(map.u[i]) - double(map.u[j]), v = double(map.v[i]) - double(map.v[j]);
    return u * u + v * v;
  };
#pragma omp parallel for
  for (size_t i = 0; i < N; ++i) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < N; ++j) sum += 1 / (1 + distance(i, j));
    Z_i[i] = sum - 1;
  }
  const double Z = std::accumulate(Z_i.begin(), Z_i.end(), 0.0);
#pragma omp parallel for
  for (size_t i = 0; i < N; ++i) {
    const real* const p = P.data() + i * N;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < N; ++j)
      sum += p[j] > 0 ? double(p[j]) * std::log(double(p[j]) * Z * (1 + distance(i, j))) : 0;
    C_i[i] = sum;
  }
  return std::accumulate(C_i.begin(), C_i.end(), 0.0);
}

// dC/dy_i = 4 Σ_j (p_ij - q_ij) (y_i - y_j) w_ij                                             (eq.5)
//         = 4 (Σ_j p_ij w_ij (y_i - y_j)  -  1/Z Σ_j w_ij² (y_i - y_j))
// In the second form one pass over the pairs suffices, at whose end Z is known.
Tensor kl_gradient(const Tensor& P, const Tensor& y, double exaggeration) {
  const Coordinates map(y);
  const size_t N = map.u.size();
  const real* const u = map.u.data();
  const real* const v = map.v.data();
  Vector Z_i(N);
  struct Forces {
    real attract_u, attract_v, repel_u, repel_v;
  };
  std::vector<Forces> forces(N);
#pragma omp parallel for
  for (size_t i = 0; i < N; ++i) {
    const real* const p = P.data() + i * N;
    const real u_i = u[i], v_i = v[i];
    real sum = 0, attract_u = 0, attract_v = 0, repel_u = 0, repel_v = 0;
#pragma omp simd reduction(+ : sum, attract_u, attract_v, repel_u, repel_v)
    for (size_t j = 0; j < N; ++j) {
      const real du = u_i - u[j], dv = v_i - v[j];
      const real w = 1 / (1 + du * du + dv * dv);
      const real pw = p[j] * w, ww = w * w;
      sum += w;
      attract_u += pw * du;
      attract_v += pw * dv;
      repel_u += ww * du;
      repel_v += ww * dv;
    }
    Z_i[i] = double(sum) - 1;                       // without w_ii
    forces[i] = {attract_u, attract_v, repel_u, repel_v};
  }
  const double Z = std::accumulate(Z_i.begin(), Z_i.end(), 0.0);
  const Tensor gradient(y.shape(), Device::cpu);
  for (size_t i = 0; i < N; ++i) {
    const Forces& f = forces[i];
    gradient.data()[2 * i] = real(4 * (exaggeration * double(f.attract_u) - double(f.repel_u) / Z));
    gradient.data()[2 * i + 1] =
        real(4 * (exaggeration * double(f.attract_v) - double(f.repel_v) / Z));
  }
  return gradient;
}

// Y(t) = Y(t-1) - η dC/dY + α(t) (Y(t-1) - Y(t-2))                                          (alg.1)
TsneMap tsne(const Tensor& x, const TsneOptions& options) {
  const Tensor P = joint_probabilities(x, options.perplexity);
  const int64_t N = x.rows();
  const Tensor y(Shape{N, 2}, Device::cpu);
  const size_t size = size_t(2 * N);
  Random random(options.seed, "t-SNE");
  // Y(0) from N(0, 1e-4 I)
  for (size_t k = 0; k < size; ++k) y.data()[k] = real(1e-2 * random.normal());
  Vector gain(size, 1), step(size);
  Progress progress(formatted("t-SNE of {} points", N), options.iterations);
  for (int t = 1; t <= options.iterations; ++t) {
    // momentum         (sec.3.4)
    const double alpha = t < 250 ? 0.5 : 0.8;
    // early exaggeration
    const Tensor g = kl_gradient(P, y, t <= 50 ? 4 : 1);
    double mean[2] = {0, 0};
    for (size_t k = 0; k < size; ++k) {
      const double g_k = double(g.data()[k]);
      gain[k] = step[k] * g_k > 0 ? std::max(0.8 * gain[k], 0.01) : gain[k] + 0.2;
      step[k] = alpha * step[k] - options.learning_rate * gain[k] * g_k;
      mean[k % 2] += (double(y.data()[k]) + step[k]) / double(N);
    }
    for (size_t k = 0; k < size; ++k)
      y.data()[k] = real(double(y.data()[k]) + step[k] - mean[k % 2]);
    progress.update(t);
    check_interrupt();
  }
  const double kl = kl_divergence(P, y);
  MB_CHECK(std::isfinite(kl), "t-SNE: the map diverged at a learning rate of {}; 100 is usual",
           options.learning_rate);
  return {y, kl};
}

}  // namespace minbert
