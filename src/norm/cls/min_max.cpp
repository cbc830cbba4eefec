// Min-max normalization of [CLS]: each dimension from its range over the training set to [-1,1].
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    x̂ = (2x - θ₁ - θ₂) / (θ₂ - θ₁ + ε)     θ₁ = min x   θ₂ = max x                     [TA eq.3]
//   Shapes      x, x̂ [B,H]   θ₁, θ₂ [H]
//   Statistics  one pass over the training set with the pre-trained encoder, then constant        [TA sec.4.2]
//   Gradients   dL/dx = dL/dx̂ 2 / (θ₂ - θ₁ + ε)
//   Deviations  none; computed as (x-θ₁) - (θ₂-x), since 2x - (θ₁+θ₂) of large numbers cancels
#include <algorithm>
#include <limits>

#include "engine/arithmetic.h"
#include "engine/launch.h"
#include "minbert/cls_norm.h"
#include "norm/cls/per_dimension.h"

namespace minbert {
namespace {

struct MinMax {
  const real *theta1, *theta2;
  real eps;
  HD real width(int i) const { return nan_if_infinite(theta2[i] - theta1[i] + eps); }
  HD real f(real x, int i) const { return ((x - theta1[i]) - (theta2[i] - x)) / width(i); }
  HD real slope(int i) const { return 2 / width(i); }
};

constexpr real infinity = std::numeric_limits<real>::infinity();

}  // namespace

MinMaxNorm::MinMaxNorm(int64_t hidden, double eps)
    : FittedClsNorm("min-max", hidden), eps_(eps), least_(&buffer("min", Tensor::zeros({hidden}))),
      most_(&buffer("max", Tensor::zeros({hidden}))), theta1_(size_t(hidden), infinity),
      theta2_(size_t(hidden), -infinity) {}

void MinMaxNorm::add(const Tensor& h) {
  const std::vector<real> x = h.values();
  for (size_t k = 0, H = theta1_.size(); k < x.size(); ++k) {
    theta1_[k % H] = std::min(theta1_[k % H], x[k]);
    theta2_[k % H] = std::max(theta2_[k % H], x[k]);
  }
}

void MinMaxNorm::finish() {
  least_->copy_from(theta1_), most_->copy_from(theta2_);
  theta1_.assign(theta1_.size(), infinity), theta2_.assign(theta2_.size(), -infinity);
}

Tensor MinMaxNorm::normalize(const Tensor& h) const {
  return per_dimension("min_max", h, MinMax{least_->data(), most_->data(), real(eps_)}, {*least_, *most_});
}

}  // namespace minbert
