// Ranks, ties and the closed form for two groups.
#include "papers/statistics/kruskal_wallis.h"

#include <algorithm>
#include <cmath>

#include "minbert/error.h"

namespace minbert {

// H and p of two groups; equal values share the mean of their ranks.
KruskalWallis kruskal_wallis(const std::vector<double>& one, const std::vector<double>& other) {
  MB_CHECK(!one.empty() && !other.empty(),
           "kruskal_wallis: groups of {} and {} values; expected 1 or more", one.size(),
           other.size());
  struct Value {
    double value;
    size_t group;
  };
  std::vector<Value> all;
  for (const double v : one) all.push_back({v, 0});
  for (const double v : other) all.push_back({v, 1});
  std::ranges::sort(all, {}, &Value::value);
  const double N = double(all.size());
  double R[2] = {}, ties = 0;
  for (size_t begin = 0, end; begin < all.size(); begin = end) {
    for (end = begin; end < all.size() && all[end].value == all[begin].value; ++end) continue;
    const double t = double(end - begin), rank = (double(begin + 1) + double(end)) / 2;
    for (size_t i = begin; i < end; ++i) R[all[i].group] += rank;
    ties += t * t * t - t;
  }
  const double spread = 1 - ties / (N * N * N - N);                                 // [LN-PEFT kruskal-wallis]
  if (spread <= 0) return {0, 1};
  const double n[2] = {double(one.size()), double(other.size())};
  const double uncorrected =
      12 / (N * (N + 1)) * (R[0] * R[0] / n[0] + R[1] * R[1] / n[1]) - 3 * (N + 1);  // [LN-PEFT kruskal-wallis]
  const double H = std::max(0.0, uncorrected / spread);                             // [LN-PEFT kruskal-wallis]
  const double p = std::erfc(std::sqrt(H / 2));       // [LN-PEFT kruskal-wallis] [LN-PEFT fact.p-values]
  return {H, p};
}

}  // namespace minbert
