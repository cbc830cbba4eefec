// The Kruskal-Wallis test: do several groups of values come from one distribution?
#pragma once

#include <vector>

namespace minbert {

// Ranks are shared by equal values, and H is corrected for them:
//
//   H = (12/(N(N+1)) Σ_g R_g²/n_g - 3(N+1)) / (1 - Σ_t (t³-t)/(N³-N))    Kruskal & Wallis 1952
//   R_g the sum of the ranks of group g of n_g values; N values in all; t the sizes of the ties
//
// p is that of two groups: H follows a chi-squared distribution with 1 degree of freedom, and so
// p = erfc(√(H/2)). Where all values are equal H = 0 and p = 1. Error for an empty group.
struct KruskalWallis {
  double H, p;
};
KruskalWallis kruskal_wallis(const std::vector<double>& one, const std::vector<double>& other);

}  // namespace minbert
