// Min-max normalization of [CLS]: each dimension of the training set between -1 and 1.
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    x̂ = (2x - θ₁ - θ₂) / (θ₂ - θ₁ + ε)     θ₁ = min x   θ₂ = max x          [TA eq.3]
//   Shapes      x, x̂ [B,H]   θ₁, θ₂ [H]
//   Statistics  of the training set, in one pass of the pre-trained encoder; constant  [TA sec.4.2]
//   Gradients   dL/dx = 2 dL/dx̂ / (θ₂ - θ₁ + ε)
//   Deviations  none. The paper gives no value of ε: 1e-5 is ours (see z.cpp).
//               Computed as (x-θ₁) + (x-θ₂): 2x - (θ₁+θ₂) of large numbers loses digits.
#include <algorithm>
#include <limits>

#include "norm/cls/fitted.h"

namespace minbert {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct MinMaxNorm : FittedNorm {
  explicit MinMaxNorm(const NormOptions& o)
      : FittedNorm("min-max", o), eps_(o.number("eps")), min_(statistic("min")),
        max_(statistic("max")), theta1_(size_t(hidden_), infinity),
        theta2_(size_t(hidden_), -infinity) {}

  // (2x - θ_1 - θ_2) / (θ_2 - θ_1 + ε) of each row x of h
  Tensor normalize(const Tensor& h) const override {
    return ((h - min_) + (h - max_)) / (max_ - min_ + eps_);                         // [TA eq.3]
  }

  void add(const Tensor& h) override {
    const std::vector<real> x = h.values();
    for (size_t k = 0, H = theta1_.size(); k < x.size(); ++k) {
      theta1_[k % H] = std::min(theta1_[k % H], double(x[k]));
      theta2_[k % H] = std::max(theta2_[k % H], double(x[k]));
    }
  }

  void finish() override {
    store(theta1_, min_, infinity);
    store(theta2_, max_, -infinity);
  }

  double eps_;
  Tensor min_, max_;                                // [H] θ₁, θ₂
  std::vector<double> theta1_, theta2_;             // over the set so far
};

const NormEntry cls_min_max = {
    .name = "min-max",
    .formula = "(2h-θ₁-θ₂)/(θ₂-θ₁+ε)",
    .paper = "[TA eq.3]",
    .over = over_training_set,
    .statistics = one_pass,
    .place = ClsPlace::pre_pooler,
    .options = {{"eps", "1e-5"}},
    .make = new_norm<MinMaxNorm>,
};

}  // namespace minbert
