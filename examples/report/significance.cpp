// Exact tests on few pairs, by going through all signs and all subsets.
#include "report/significance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "minbert/error.h"
#include "minbert/metrics.h"

namespace minbert {

double sign_flip_p(const Numbers& d) {
  MB_CHECK(!d.empty() && d.size() <= 24, "sign_flip_p: {} differences; expected 1 to 24", d.size());
  double sum = 0, size = 0;
  for (const double x : d) sum += x, size += std::abs(x);
  const size_t ways = size_t(1) << d.size();
  size_t as_far = 0;
  for (size_t signs = 0; signs < ways; ++signs) {
    double flipped = 0;
    for (size_t i = 0; i < d.size(); ++i) flipped += signs >> i & 1 ? -d[i] : d[i];
    as_far += std::abs(flipped) >= std::abs(sum) - 1e-9 * size;
  }
  return double(as_far) / double(ways);
}

double least_sign_flip_p(size_t n) { return std::min(1.0, 2 / std::pow(2, double(n))); }

std::pair<double, double> sign_flip_interval(const Numbers& d) {
  MB_CHECK(d.size() >= 6, "sign_flip_interval: {} differences; expected 6 or more", d.size());
  if (d.size() > 16) {                              // Student's: 2.12 for 17, for more a little too wide
    const Summary all = summarize(d);
    const double reach = 2.12 * all.deviation / std::sqrt(double(d.size()));
    return {all.mean - reach, all.mean + reach};
  }
  Numbers means;
  for (size_t subset = 1; subset < size_t(1) << d.size(); ++subset) {
    Numbers part;
    for (size_t i = 0; i < d.size(); ++i)
      if (subset >> i & 1) part.push_back(d[i]);
    means.push_back(std::accumulate(part.begin(), part.end(), 0.0) / double(part.size()));
  }
  std::ranges::sort(means);
  const auto k = size_t(level / 2 * double(means.size() + 1));         // 1 of 6 differences
  return {means[k - 1], means[means.size() - k]};
}

// The shares of which n or more, and n or fewer, would come with probability .025.
std::pair<double, double> share_interval(size_t n, size_t of) {
  const auto at_least = [of](size_t k, double share) {            // P(k or more of `of`)
    double p = 0;
    for (size_t i = k; i <= of; ++i) {
      const double ways = std::lgamma(double(of) + 1) - std::lgamma(double(i) + 1) - std::lgamma(double(of - i) + 1);
      p += std::exp(ways + double(i) * std::log(share) + double(of - i) * std::log1p(-share));
    }
    return p;
  };
  const auto solve = [&](size_t k, double p) {
    double low = 1e-12, high = 1 - 1e-12;
    for (int i = 0; i < 60; ++i) (at_least(k, (low + high) / 2) < p ? low : high) = (low + high) / 2;
    return (low + high) / 2;
  };
  return {n == 0 ? 0 : solve(n, level / 2), n == of ? 1 : solve(n + 1, 1 - level / 2)};
}

// By simulation of the sign-flip test at .05 on normal differences; from 13 on its limit, a little above that of t's.
double detectable(size_t n) {
  constexpr double from_six[] = {1.80, 1.33, 1.19, 1.09, 1.00, 0.94, 0.89};
  return n < fewest ? INFINITY : n < 13 ? from_six[n - fewest] : 3.05 / std::sqrt(double(n));
}

}  // namespace minbert
