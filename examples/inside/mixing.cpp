// The sums of mixing.h. f^h(x_j) is computed once for each head and token, and then weighted for each i.
#include "inside/mixing.h"

#include <cmath>

#include "inside/row_sums.h"

namespace minbert {
namespace {

// f^h(x_j) [heads,T,H]
std::vector<real> transformed(const AttentionBlock& b) {
  const int64_t d = b.H / b.heads;
  std::vector<real> f(size_t(b.heads * b.T * b.H));
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < b.heads * b.T; ++row) {
    const int64_t h = row / b.T, j = row % b.T;
    const real* v = b.v.data() + j * b.H + h * d;
    for (int64_t i = 0; i < b.H; ++i) {
      const real* w = b.W_O.data() + i * b.H + h * d;
      real sum = 0;
      for (int64_t c = 0; c < d; ++c) sum += w[c] * v[c];
      f[size_t(row * b.H + i)] = sum;
    }
  }
  return f;
}

}  // namespace

std::vector<real> contributions_of(const AttentionBlock& b) {
  const std::vector<real> f = transformed(b);
  std::vector<real> all(size_t(b.T * b.T * b.H));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < b.T; ++i) {
    const double s = std::sqrt(row_variance(b.a.subspan(size_t(i * b.H), size_t(b.H))) + b.eps);
    for (int64_t j = 0; j < b.T; ++j) {
      real* u = all.data() + (i * b.T + j) * b.H;
      for (int64_t h = 0; h < b.heads; ++h) {
        const real alpha = b.alpha[size_t((h * b.T + i) * b.T + j)];
        const real* f_hj = f.data() + (h * b.T + j) * b.H;
        for (int64_t c = 0; c < b.H; ++c) u[c] += alpha * f_hj[c];
      }
      if (i == j)
        for (int64_t c = 0; c < b.H; ++c) u[c] += b.x[size_t(i * b.H + c)];
      const double mean = row_mean(std::span(u, size_t(b.H)));
      for (int64_t c = 0; c < b.H; ++c) u[c] = real((double(u[c]) - mean) / s * double(b.gamma[size_t(c)]));
    }
  }
  return all;
}

Mixing mixing_of(const std::vector<real>& contributions, int64_t T, int64_t H) {
  Mixing result;
  for (int64_t i = 0; i < T; ++i) {
    std::vector<double> others(size_t(H), 0.0);
    double own = 0;
    for (int64_t j = 0; j < T; ++j) {
      const real* y = contributions.data() + (i * T + j) * H;
      const std::vector<double> row(y, y + H);
      const double length = row_length(row);
      result.norms.push_back(real(length));
      if (i == j) own = length;
      else for (size_t c = 0; c < row.size(); ++c) others[c] += row[c];
    }
    const double mixed = row_length(others);
    result.ratios.push_back(real(mixed + own > 0 ? mixed / (mixed + own) : 0));
  }
  return result;
}

}  // namespace minbert
