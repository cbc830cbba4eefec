// The tests and intervals that verdicts rest on.
#pragma once

#include <utility>
#include <vector>

#include "report/figure.h"

namespace minbert {

inline constexpr double level = 0.05;               // of p; intervals hold with 1 - level
inline constexpr size_t fewest = 6;                 // pairs of which p can be below the level

// Exact: of the 2^n ways to give n differences signs, the share whose sum is at least as far from 0
// as theirs. Between two methods under the same seeds. 0 < n <= 24.
double sign_flip_p(const Numbers& differences);
double least_sign_flip_p(size_t n);                         // 2 / 2^n: all of one sign

// An interval that has the differences' center with probability of at least .95, if they are
// symmetric about it, whatever their distribution: between the k-th of the means of all subsets from
// below and from above, k = .025 2^n (Hartigan 1969). Above 16 Student's. n >= 6.
std::pair<double, double> sign_flip_interval(const Numbers& differences);

// The share that n of N shows: Clopper and Pearson's exact interval, .95.
std::pair<double, double> share_interval(size_t n, size_t of);

// In standard deviations of the differences: the effect that n pairs show in four of five cases.
double detectable(size_t n);

}  // namespace minbert
