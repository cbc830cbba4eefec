// Min-max normalization of [CLS]: maps the range of each dimension over the training set to [-1,1].
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    x̂ = (2x - θ₁ - θ₂) / (θ₂ - θ₁ + ε)     θ₁ = min x   θ₂ = max x           [TA eq.3]
//   Shapes      x, x̂ [B,H]   θ₁, θ₂ [H]
//   Statistics  of the training set, in one pass of the pre-trained encoder; constant  [TA sec.4.2]
//   Gradients   dL/dx = dL/dx̂ 2 / (θ₂ - θ₁ + ε)
//   Deviations  none; computed as (x-θ₁) + (x-θ₂): 2x - (θ₁+θ₂) of large numbers loses digits
#include <algorithm>
#include <limits>

#include "norm/cls/fitted.h"

namespace minbert {
namespace {

constexpr real infinity = std::numeric_limits<real>::infinity();

class MinMaxNorm : public FittedClsNorm {
 public:
  explicit MinMaxNorm(const NormOptions& o)
      : FittedClsNorm("min-max", o.hidden), eps_(o.number("eps")),
        min_(buffer("min", Tensor::zeros({o.hidden}))),
        max_(buffer("max", Tensor::zeros({o.hidden}))), theta1_(size_t(o.hidden), infinity),
        theta2_(size_t(o.hidden), -infinity) {}

 private:
  Tensor normalize(const Tensor& h) const override {
    return ((h - min_) + (h - max_)) / (max_ - min_ + eps_);                         // [TA eq.3]
  }

  void add(const Tensor& h) override {
    const std::vector<real> x = h.values();
    for (size_t k = 0, H = theta1_.size(); k < x.size(); ++k) {
      theta1_[k % H] = std::min(theta1_[k % H], x[k]);
      theta2_[k % H] = std::max(theta2_[k % H], x[k]);
    }
  }

  void finish() override {
    min_.copy_from(theta1_);
    max_.copy_from(theta2_);
    theta1_.assign(theta1_.size(), infinity);
    theta2_.assign(theta2_.size(), -infinity);
  }

  double eps_;
  Tensor min_, max_;                                // [H] θ₁, θ₂
  std::vector<real> theta1_, theta2_;               // over the set so far
};

}  // namespace

ClsNormEntry cls_min_max = {
    .name = "min-max",
    .formula = "(2h-θ₁-θ₂)/(θ₂-θ₁+ε)",
    .paper = "[TA eq.3]",
    .over = over_training_set,
    .statistics = one_pass,
    .parameters = "0",
    .place = "pre-pooler",
    .options = {{"eps", "1e-5"}},
    .make = new_cls_norm<MinMaxNorm>,
};

}  // namespace minbert
