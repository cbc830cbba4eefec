// Two programs on the same work by turns: the machine's speed swings by a third within minutes, and the swings that
// both see cancel in the ratio of a pair.
#pragma once

#include <string>
#include <vector>

#include "bench/child.h"

namespace minbert::bench {

struct Interval {
  double low, median, high;
};
// The median, and an interval that holds the true one with 95% certainty whatever the distribution: the k-th value from
// below and from above; n fair coins show fewer than k heads in at most 2.5% of throws. n < 6: the least and the most.
Interval median_interval(std::vector<double> values);

// Of two programs that were asked by turns for the same work: the first's seconds over the second's, pair by pair.
std::vector<double> ratios(const std::vector<double>& first, const std::vector<double>& second);

struct Pairs {
  std::vector<double> first, second, ratio;         // seconds of each; the first's over the second's
  // Asks both for the work; the first one begins in every other pair.
  void ask(Child& a, Child& b, const std::string& work);
  Interval ratios() const { return median_interval(ratio); }
};

// "1.013 [1.005,1.021]"
std::string interval_text(const Interval& i, int digits);
// Does a bound hold? Only where the whole interval lies below it and 3% of tolerance.
std::string verdict(const Interval& i, double bound);

}  // namespace minbert::bench
