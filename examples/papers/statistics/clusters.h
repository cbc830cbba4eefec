// k-means with two clusters: do the points fall into two groups, and into which?
#pragma once

#include <vector>

#include "minbert/tensor.h"

namespace minbert {

struct TwoMeans {
  std::vector<int> cluster;                         // [N] 0 or 1; the first point is in cluster 0
  // The sum of squares between the clusters, divided by the total sum of squares: 0 to 1. Points
  // without groups are not at 0: two halves of one normal cloud have 2/π of the variance of its
  // widest direction between them, so .64 if H = 1, .64/H if all directions are as wide.
  double variance_between;
};
// The best of so many runs of Lloyd's algorithm, each from a start as in k-means++: of few points
// (64) in many dimensions ten are too few to find it. x [N,H]. Errors:
// fewer than two points, only equal points, a NaN or an infinity.
TwoMeans two_means(const Tensor& x, uint64_t seed = 11711, int starts = 100);

// How well a score tells the two clusters apart, whichever of them has the larger values: .5 .. 1. It is
// the share of pairs, one of cluster 1 and one not, of which the first has the larger score, or the
// smaller; a tie counts half (Mann & Whitney 1947). NaN: one of the two is empty.
double told_apart(const std::vector<double>& score, const std::vector<int>& cluster);

}  // namespace minbert
