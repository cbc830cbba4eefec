// Z-normalization of [CLS]: each dimension by its mean and standard deviation over the training set.
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    x̂ = (x - μ) / (σ + ε)     μ = E[x]   σ² = E[(x - μ)²]                              [TA eq.2]
//   Shapes      x, x̂ [B,H]   μ, σ [H]
//   Statistics  one pass over the training set with the pre-trained encoder, then constant        [TA sec.4.2]
//   Gradients   dL/dx = dL/dx̂ / (σ + ε)
//   Deviations  none
#include "engine/launch.h"
#include "minbert/cls_norm.h"
#include "norm/cls/per_dimension.h"

namespace minbert {
namespace {

struct Z {
  const real *mu, *sigma;
  real eps;
  HD real f(real x, int i) const { return (x - mu[i]) / (sigma[i] + eps); }
  HD real slope(int i) const { return 1 / (sigma[i] + eps); }
};

}  // namespace

ZNorm::ZNorm(int64_t hidden, double eps)
    : FittedClsNorm("z", hidden), eps_(eps), mean_(&buffer("mean", Tensor::zeros({hidden}))),
      deviation_(&buffer("deviation", Tensor::zeros({hidden}))), mu_(size_t(hidden)), squares_(size_t(hidden)) {}

// Row by row, so that nothing cancels: μ' = μ + (x-μ)/n,  S' = S + (x-μ)(x-μ')                     Welford 1962
void ZNorm::add(const Tensor& h) {
  const std::vector<real> x = h.values();
  for (size_t row = 0, H = mu_.size(); row * H < x.size(); ++row)
    for (size_t i = 0; i < H; ++i) {
      const double d = double(x[row * H + i]) - mu_[i];
      mu_[i] += d / double(rows() + int64_t(row) + 1);
      squares_[i] += d * (double(x[row * H + i]) - mu_[i]);
    }
}

void ZNorm::finish() {
  for (double& s : squares_) s = std::sqrt(s / double(rows()));                      // now σ
  mean_->copy_from(std::vector<real>(mu_.begin(), mu_.end()));
  deviation_->copy_from(std::vector<real>(squares_.begin(), squares_.end()));
  mu_.assign(mu_.size(), 0), squares_.assign(squares_.size(), 0);
}

Tensor ZNorm::normalize(const Tensor& h) const {
  return per_dimension("z", h, Z{mean_->data(), deviation_->data(), real(eps_)}, {*mean_, *deviation_});
}

}  // namespace minbert
