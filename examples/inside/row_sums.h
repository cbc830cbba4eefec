// Of one row of numbers, real or double: sums in double.
#pragma once

#include <cmath>
#include <cstddef>

namespace minbert {

template <class Row>
double row_mean(const Row& x) {
  double sum = 0;
  for (const auto v : x) sum += double(v);
  return sum / double(x.size());
}
template <class Row>
double row_variance(const Row& x) {
  const double mean = row_mean(x);
  double squares = 0;
  for (const auto v : x) squares += (double(v) - mean) * (double(v) - mean);
  return squares / double(x.size());
}
template <class Row>
double row_dot(const Row& a, const Row& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double(a[i]) * double(b[i]);
  return sum;
}
template <class Row>
double row_length(const Row& x) { return std::sqrt(row_dot(x, x)); }

}  // namespace minbert
