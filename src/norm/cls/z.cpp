// Z-normalization of [CLS]: each dimension with mean 0 and deviation 1 over the training set.
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    x̂ = (x - μ) / (σ + ε)     μ = E[x]   σ² = E[(x - μ)²]                  [TA eq.2]
//   Shapes      x, x̂ [B,H]   μ, σ [H]
//   Statistics  of the training set, in one pass of the pre-trained encoder; constant  [TA sec.4.2]
//   Gradients   dL/dx = dL/dx̂ / (σ + ε)
//   Deviations  none. ε keeps a dimension that never varies from a division by 0. The paper has no
//               value for it, only "a more careful selection" (sec. 5.2); 1e-5 is ours, and where σ
//               is 0 makes 10,000 of a change by .1 (1e-2: 10).
#include <cmath>

#include "norm/cls/fitted.h"

namespace minbert {

struct ZNorm : FittedNorm {
  explicit ZNorm(const NormOptions& o)
      : FittedNorm("z", o), eps_(o.number("eps")), mean_(statistic("mean")),
        deviation_(statistic("deviation")), mu_(size_t(hidden_)), squares_(size_t(hidden_)) {}

  // (x - μ) / (σ + ε) of each row x of h
  Tensor normalize(const Tensor& h) const override {
    return (h - mean_) / (deviation_ + eps_);                                        // [TA eq.2]
  }

  // Row by row, which loses no digits: μ' = μ + (x-μ)/n,  S' = S + (x-μ)(x-μ')         Welford 1962
  void add(const Tensor& h) override {
    const std::vector<real> x = h.values();
    for (size_t row = 0, H = mu_.size(); row * H < x.size(); ++row)
      for (size_t i = 0; i < H; ++i) {
        const double d = double(x[row * H + i]) - mu_[i];
        mu_[i] += d / double(rows_ + int64_t(row) + 1);
        squares_[i] += d * (double(x[row * H + i]) - mu_[i]);
      }
  }

  void finish() override {
    for (double& s : squares_) s = std::sqrt(s / double(rows_));    // σ, by σ² = E[(x - μ)²]
    store(mu_, mean_);
    store(squares_, deviation_);
  }

  double eps_;
  Tensor mean_, deviation_;                         // [H] μ, σ
  std::vector<double> mu_, squares_;                // over the set so far: the mean, and Σ (x-μ)²
};

const NormEntry cls_z = {
    .name = "z",
    .formula = "(h-μ)/(σ+ε)",
    .paper = "[TA eq.2]",
    .over = over_training_set,
    .statistics = one_pass,
    .place = ClsPlace::pre_pooler,
    .options = {{"eps", "1e-5"}},
    .make = new_norm<ZNorm>,
};

}  // namespace minbert
