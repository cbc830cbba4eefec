// L2 normalization of [CLS]: each dimension with root mean square 1 over the training set.
//
//   Paper       Efficient Task Adaptation with Normalization
//   Equation    x̂ = x / (δ + ε)     δ² = E[x²]                                        [TA eq.4]
//   Shapes      x, x̂ [B,H]   δ [H]
//   Statistics  of the training set, in one pass of the pre-trained encoder; constant  [TA sec.4.2]
//   Gradients   dL/dx = dL/dx̂ / (δ + ε)
//   Deviations  none. The paper gives no value of ε: 1e-5 is ours (see z.cpp).
//               As in the paper, δ is of each dimension over the set, not of each sentence.
#include <cmath>

#include "norm/cls/fitted.h"

namespace minbert {

struct L2Norm : FittedNorm {
  explicit L2Norm(const NormOptions& o)
      : FittedNorm("l2", o), eps_(o.number("eps")),
        root_mean_square_(statistic("root_mean_square")), squares_(size_t(hidden_)) {}

  // x / (δ + ε) of each row x of h
  Tensor normalize(const Tensor& h) const override {
    return h / (root_mean_square_ + eps_);                             // [TA eq.4] [TA sec.4.2]
  }

  void add(const Tensor& h) override {
    const std::vector<real> x = h.values();
    for (size_t k = 0; k < x.size(); ++k)
      squares_[k % squares_.size()] += double(x[k]) * double(x[k]);
  }

  void finish() override {
    for (double& s : squares_) s = std::sqrt(s / double(rows_));            // δ, by δ² = E[x²]
    store(squares_, root_mean_square_);
  }

  double eps_;
  Tensor root_mean_square_;                         // [H] δ
  std::vector<double> squares_;                     // Σ x² over the set so far
};

const NormEntry cls_l2 = {
    .name = "l2",
    .formula = "h/(δ+ε)",
    .paper = "[TA eq.4]",
    .over = over_training_set,
    .statistics = one_pass,
    .place = ClsPlace::pre_pooler,
    .options = {{"eps", "1e-5"}},
    .make = new_norm<L2Norm>,
};

}  // namespace minbert
