// L2 normalization of [CLS]: each dimension by the root of its mean square over the training set.
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    x̂ = x / (δ + ε)     δ² = E[x²]                                                     [TA eq.4]
//   Shapes      x, x̂ [B,H]   δ [H]
//   Statistics  one pass over the training set with the pre-trained encoder, then constant        [TA sec.4.2]
//   Gradients   dL/dx = dL/dx̂ / (δ + ε)
//   Deviations  none: as in the paper δ is of a dimension over the set, not of a sentence's vector
#include "engine/launch.h"
#include "minbert/cls_norm.h"
#include "norm/cls/per_dimension.h"

namespace minbert {
namespace {

struct L2 {
  const real* delta;
  real eps;
  HD real f(real x, int i) const { return x / (delta[i] + eps); }
  HD real slope(int i) const { return 1 / (delta[i] + eps); }
};

}  // namespace

L2Norm::L2Norm(int64_t hidden, double eps)
    : FittedClsNorm("l2", hidden), eps_(eps),
      root_mean_square_(&buffer("root_mean_square", Tensor::zeros({hidden}))), squares_(size_t(hidden)) {}

void L2Norm::add(const Tensor& h) {
  const std::vector<real> x = h.values();
  for (size_t k = 0; k < x.size(); ++k) squares_[k % squares_.size()] += double(x[k]) * double(x[k]);
}

void L2Norm::finish() {
  for (double& s : squares_) s = std::sqrt(s / double(rows()));                      // now δ
  root_mean_square_->copy_from(std::vector<real>(squares_.begin(), squares_.end()));
  squares_.assign(squares_.size(), 0);
}

Tensor L2Norm::normalize(const Tensor& h) const {
  return per_dimension("l2", h, L2{root_mean_square_->data(), real(eps_)}, {*root_mean_square_});
}

}  // namespace minbert
