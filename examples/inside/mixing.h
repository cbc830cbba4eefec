// Where a row of an attention block's output comes from, once residual and norm are counted.
//
//   Paper     Kobayashi, Kuribayashi, Yokoi & Inui, Incorporating Residual and Normalization Layers into Analysis of
//             Masked Language Models, 2021, sec. 3
//   Block     y_i = LN(a_i)      a_i = x_i + b_O + sum_j sum_h alpha_ij^h f^h(x_j)
//             f^h(x) = W_O^h (W_v^h x + b_v^h)
//   LN        is linear once the deviation of its row is known: LN(a_i) = g_i(a_i) + beta with
//             g_i(u) = (u - mean(u)) / s_i * gamma,   s_i = sqrt(sigma^2(a_i) + eps)
//   So        y_i = sum_j y_{i<-j} + g_i(b_O) + beta
//             y_{i<-j} = g_i(sum_h alpha_ij^h f^h(x_j))     for j = i with g_i(x_i) added
//   Mixing    r_i = |sum_{j != i} y_{i<-j}| / (|sum_{j != i} y_{i<-j}| + |y_{i<-i}|)
//   Shapes    x, a, y [T,H]   alpha [heads,T,T]   v [T,H], head h in columns h d .. (h+1) d - 1   W_O [H,H]
#pragma once

#include <vector>

#include "minbert/tensor.h"

namespace minbert {

struct AttentionBlock {
  int64_t T, H, heads;
  std::span<const real> x, a, v, alpha, W_O;
  std::vector<real> gamma;                          // [H]
  double eps;
};

std::vector<real> contributions_of(const AttentionBlock& block);          // y_{i<-j} [T,T,H]

struct Mixing {
  std::vector<real> norms, ratios;                  // |y_{i<-j}| [T,T], r_i [T]
};
Mixing mixing_of(const std::vector<real>& contributions, int64_t T, int64_t H);

}  // namespace minbert
