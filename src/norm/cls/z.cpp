// Z-normalization of [CLS]: each dimension by its mean and deviation over the training set.
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    x̂ = (x - μ) / (σ + ε)     μ = E[x]   σ² = E[(x - μ)²]                    [TA eq.2]
//   Shapes      x, x̂ [B,H]   μ, σ [H]
//   Statistics  of the training set, in one pass of the pre-trained encoder; constant  [TA sec.4.2]
//   Gradients   dL/dx = dL/dx̂ / (σ + ε)
//   Deviations  none; the paper gives no value of ε (its sec. 5.2 calls it decisive): 1e-5 is ours
#include <cmath>

#include "norm/cls/fitted.h"

namespace minbert {
namespace {

class ZNorm : public FittedClsNorm {
 public:
  explicit ZNorm(const NormOptions& o)
      : FittedClsNorm("z", o.hidden), eps_(o.number("eps")),
        mean_(buffer("mean", Tensor::zeros({o.hidden}))),
        deviation_(buffer("deviation", Tensor::zeros({o.hidden}))), mu_(size_t(o.hidden)),
        squares_(size_t(o.hidden)) {}

 private:
  // [TA eq.2]
  Tensor normalize(const Tensor& h) const override { return (h - mean_) / (deviation_ + eps_); }

  // Row by row, which loses no digits: μ' = μ + (x-μ)/n,  S' = S + (x-μ)(x-μ')         Welford 1962
  void add(const Tensor& h) override {
    const std::vector<real> x = h.values();
    for (size_t row = 0, H = mu_.size(); row * H < x.size(); ++row)
      for (size_t i = 0; i < H; ++i) {
        const double d = double(x[row * H + i]) - mu_[i];
        mu_[i] += d / double(rows() + int64_t(row) + 1);
        squares_[i] += d * (double(x[row * H + i]) - mu_[i]);
      }
  }

  void finish() override {
    for (double& s : squares_) s = std::sqrt(s / double(rows()));                    // now σ
    mean_.copy_from(std::vector<real>(mu_.begin(), mu_.end()));
    deviation_.copy_from(std::vector<real>(squares_.begin(), squares_.end()));
    mu_.assign(mu_.size(), 0);
    squares_.assign(squares_.size(), 0);
  }

  double eps_;
  Tensor mean_, deviation_;                         // [H] μ, σ
  std::vector<double> mu_, squares_;                // over the set so far: the mean, and Σ (x-μ)²
};

}  // namespace

ClsNormEntry cls_z = {
    .name = "z",
    .formula = "(h-μ)/(σ+ε)",
    .paper = "[TA eq.2]",
    .over = over_training_set,
    .statistics = one_pass,
    .parameters = "0",
    .place = "pre-pooler",
    .options = {{"eps", "1e-5"}},
    .make = new_cls_norm<ZNorm>,
};

}  // namespace minbert
