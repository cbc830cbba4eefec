// Z-, min-max and L2 normalization of [CLS]: each dimension by statistics of the training set.
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equations   z         x̂ = (x - μ) / (σ + ε)     μ = E[x]   σ² = E[(x - μ)²]          [TA eq.2]
//               min-max   x̂ = (2x - θ₁ - θ₂) / (θ₂ - θ₁ + ε)   θ₁ = min x   θ₂ = max x   [TA eq.3]
//               l2        x̂ = x / (δ + ε)           δ² = E[x²]                           [TA eq.4]
//   Shapes      x, x̂ [B,H]   μ, σ, θ₁, θ₂, δ [H]
//   Statistics  of the training set, in one pass of the pre-trained encoder; constant  [TA sec.4.2]
//   Gradients   dL/dx = dL/dx̂ over the denominator, with min-max twice that
//   Deviations  none. The paper gives no value of ε (its sec. 5.2 calls it decisive): 1e-5 is ours.
//               Min-max is computed as (x-θ₁) + (x-θ₂): 2x - (θ₁+θ₂) of large numbers loses digits.
//               As in the paper, δ is of each dimension over the set, not of each sentence.
#include <algorithm>
#include <cmath>
#include <limits>

#include "norm/cls/fitted.h"

namespace minbert {

struct ZNorm : FittedNorm {
  explicit ZNorm(const NormOptions& o)
      : FittedNorm("z", o), eps_(o.number("eps")), mean_(statistic("mean")),
        deviation_(statistic("deviation")), mu_(size_t(hidden_)), squares_(size_t(hidden_)) {}

  // [TA eq.2]
  Tensor normalize(const Tensor& h) const override { return (h - mean_) / (deviation_ + eps_); }

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
    for (double& s : squares_) s = std::sqrt(s / double(rows_));                     // now σ
    store(mu_, mean_);
    store(squares_, deviation_);
  }

  double eps_;
  Tensor mean_, deviation_;                         // [H] μ, σ
  std::vector<double> mu_, squares_;                // over the set so far: the mean, and Σ (x-μ)²
};

constexpr double infinity = std::numeric_limits<double>::infinity();

struct MinMaxNorm : FittedNorm {
  explicit MinMaxNorm(const NormOptions& o)
      : FittedNorm("min-max", o), eps_(o.number("eps")), min_(statistic("min")),
        max_(statistic("max")), theta1_(size_t(hidden_), infinity),
        theta2_(size_t(hidden_), -infinity) {}

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

struct L2Norm : FittedNorm {
  explicit L2Norm(const NormOptions& o)
      : FittedNorm("l2", o), eps_(o.number("eps")),
        root_mean_square_(statistic("root_mean_square")), squares_(size_t(hidden_)) {}

  // [TA eq.4]
  Tensor normalize(const Tensor& h) const override { return h / (root_mean_square_ + eps_); }

  void add(const Tensor& h) override {
    const std::vector<real> x = h.values();
    for (size_t k = 0; k < x.size(); ++k)
      squares_[k % squares_.size()] += double(x[k]) * double(x[k]);
  }

  void finish() override {
    for (double& s : squares_) s = std::sqrt(s / double(rows_));                     // now δ
    store(squares_, root_mean_square_);
  }

  double eps_;
  Tensor root_mean_square_;                         // [H] δ
  std::vector<double> squares_;                     // Σ x² over the set so far
};

namespace {

template <class N>
NormEntry entry(const char* name, const char* formula, const char* paper) {
  return {
      .name = name,
      .formula = formula,
      .paper = paper,
      .over = "the training set, by dimension",
      .statistics = "one pass over the training set",
      .place = "pre-pooler",
      .options = {{"eps", "1e-5"}},
      .make = new_norm<N>,
  };
}

}  // namespace

NormEntry cls_z = entry<ZNorm>("z", "(h-μ)/(σ+ε)", "[TA eq.2]");
NormEntry cls_min_max = entry<MinMaxNorm>("min-max", "(2h-θ₁-θ₂)/(θ₂-θ₁+ε)", "[TA eq.3]");
NormEntry cls_l2 = entry<L2Norm>("l2", "h/(δ+ε)", "[TA eq.4]");

}  // namespace minbert
