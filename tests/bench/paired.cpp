// Medians of paired measurements, and what they prove.
#include "bench/paired.h"

#include <algorithm>
#include <cstdio>

#include "bench/common.h"

namespace minbert::bench {

Interval median_interval(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const size_t n = v.size();
  double coins = 1, fewer = 0;                      // P(k heads of n fair coins), and that of fewer than k
  for (size_t i = 0; i < n; ++i) coins /= 2;
  size_t k = 0;
  for (; k < n / 2 && fewer + coins <= 0.025; ++k) fewer += coins, coins *= double(n - k) / double(k + 1);
  const size_t place = k > 0 ? k - 1 : 0;
  return {v[place], median(v), v[n - 1 - place]};
}

std::vector<double> ratios(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> list;
  for (size_t i = 0; i < first.size(); ++i) list.push_back(first[i] / second[i]);
  return list;
}

void Pairs::ask(Child& a, Child& b, const std::string& work) {
  const bool a_begins = ratio.size() % 2 == 0;
  double of_b = a_begins ? 0 : b.ask(work);
  const double of_a = a.ask(work);
  if (a_begins) of_b = b.ask(work);
  first.push_back(of_a), second.push_back(of_b), ratio.push_back(of_a / of_b);
}

std::string interval_text(const Interval& i, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f [%.*f,%.*f]", digits, i.median, digits, i.low, digits, i.high);
  return text;
}

std::string verdict(const Interval& i, double bound) { return i.high < bound + 0.03 ? "holds" : "not shown"; }

}  // namespace minbert::bench
