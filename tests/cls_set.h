// [CLS] embeddings for the tests, and norms that have their statistics from them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gradcheck.h"
#include "minbert/norm.h"
#include "norm/cls/covariance.h"

namespace minbert::test {

using Vector = std::vector<double>;

// Correlated dimensions of different size, far from 0.
inline Tensor embeddings(const std::string& name, int64_t rows, int64_t hidden, double mean = 2) {
  const Tensor common = normal(name + "/common", {rows, 3}), own = normal(name + "/own", {rows, hidden});
  std::vector<real> x;
  for (int64_t k = 0; k < own.size(); ++k) {
    const int64_t row = k / hidden, i = k % hidden;
    const double size = std::pow(10.0, -double(i % 4));
    x.push_back(real(mean + size * double(common.data()[3 * row + i % 3] + real(0.3) * own.data()[k])));
  }
  return Tensor::from({rows, hidden}, x);
}

inline Vector covariance_of(const Tensor& h) {
  Covariance set(h.cols());
  set.add(h);
  return set.matrix();
}

inline Tensor rows_of(const Tensor& x, int64_t begin, int64_t end) {
  const int64_t H = x.cols();
  return Tensor::from({end - begin, H}, std::span(x.data() + begin * H, size_t((end - begin) * H)));
}

inline std::unique_ptr<Norm> fitted(const std::string& name, int64_t hidden, const Tensor& set, int64_t batch = 7) {
  auto norm = cls_norms().make(name, {hidden});
  for (int64_t begin = 0; norm->wants_set() && begin < set.rows(); begin += batch)
    norm->fit(rows_of(set, begin, std::min(begin + batch, set.rows())));
  if (norm->wants_set()) norm->finish_fit();
  return norm;
}

// A norm of the table, with each of its presets where it has any.
inline std::vector<std::string> with_presets(const NormEntry& entry) {
  std::vector<std::string> names;
  for (const NormOption& option : entry.options)
    for (const std::string& preset : option.words) names.push_back(formatted("{}:preset={}", entry.name, preset));
  return names.empty() ? std::vector<std::string>{entry.name} : names;
}

inline std::vector<std::pair<std::string, std::vector<real>>> buffers_of(Norm& norm) {
  std::vector<std::pair<std::string, std::vector<real>>> all;
  for (const Parameter& b : norm.own_buffers()) all.emplace_back(b.name, b.value.values());
  return all;
}

}  // namespace minbert::test
