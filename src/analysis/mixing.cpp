// The sums of mixing.h. f^h(x_j) is computed once for each head and token, and then weighted for each i.
#include "analysis/mixing.h"

#include <cmath>

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

double mean_of(const real* u, int64_t H) {
  double sum = 0;
  for (int64_t i = 0; i < H; ++i) sum += double(u[i]);
  return sum / double(H);
}
double variance_of(const real* u, int64_t H) {
  const double mean = mean_of(u, H);
  double sum = 0;
  for (int64_t i = 0; i < H; ++i) sum += (double(u[i]) - mean) * (double(u[i]) - mean);
  return sum / double(H);
}
double length_of(const std::vector<double>& u) {
  double squares = 0;
  for (const double x : u) squares += x * x;
  return std::sqrt(squares);
}

}  // namespace

std::vector<real> contributions_of(const AttentionBlock& b) {
  const std::vector<real> f = transformed(b);
  std::vector<real> all(size_t(b.T * b.T * b.H));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < b.T; ++i) {
    const double s = std::sqrt(variance_of(b.a.data() + i * b.H, b.H) + b.eps);
    for (int64_t j = 0; j < b.T; ++j) {
      real* u = all.data() + (i * b.T + j) * b.H;
      for (int64_t h = 0; h < b.heads; ++h) {
        const real alpha = b.alpha[size_t((h * b.T + i) * b.T + j)];
        const real* f_hj = f.data() + (h * b.T + j) * b.H;
        for (int64_t c = 0; c < b.H; ++c) u[c] += alpha * f_hj[c];
      }
      if (i == j)
        for (int64_t c = 0; c < b.H; ++c) u[c] += b.x[size_t(i * b.H + c)];
      const double mean = mean_of(u, b.H);
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
      const double length = length_of(row);
      result.norms.push_back(real(length));
      if (i == j) own = length;
      else for (size_t c = 0; c < row.size(); ++c) others[c] += row[c];
    }
    const double mixed = length_of(others);
    result.ratios.push_back(real(mixed + own > 0 ? mixed / (mixed + own) : 0));
  }
  return result;
}

}  // namespace minbert
