// Group normalization: every token's channels in groups, each by its own mean and variance.
//
//   Paper       Wu & He, Group Normalization, 2018, eq. 1-3, 7; [NT norm.group]
//   Equation    y = (x - μ_g) / √(σ_g² + ε) ⊙ γ + β
//   Shapes      x, y [T,H]   γ, β [H]   μ_g, σ_g² over the H/G neighbouring channels of a token's group, σ_g² biased
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for one group of all channels)
//   Deviations  a token is its own image of one pixel; group-sentence takes the sentence for the image. With one group
//               it is LayerNorm. Where each channel is a group, it is its own mean and y = β whatever x is: a warning.
#include <iostream>
#include <set>

#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

class GroupNorm : public Norm {
 public:
  GroupNorm(int64_t hidden, int64_t groups, double eps)
      : groups_(groups), eps_(eps), weight_(&parameter("weight", {hidden}, Init::ones, Decay::no)),
        bias_(&parameter("bias", {hidden}, Init::zeros, Decay::no)) {}

  Tensor forward(const ResidualSum& sum, const Batch&) const override {
    const Scope scope(path());
    const Tensor x = sum;
    return group_norm(x, *weight_, *bias_, groups_, eps_);
  }

  Tensor composed(const Tensor& x, const Batch&) const override {
    const Tensor cells = x.reshape({x.rows() * groups_, x.cols() / groups_});        // a row for each group of a token
    const Tensor centered = sub(cells, mean_rows(cells));
    const Tensor xhat = mul(centered, inverse_root_composed(mean_rows(square(centered)), eps_));
    return add(mul(xhat.reshape(x.shape()), *weight_), *bias_);
  }

 private:
  int64_t groups_;
  double eps_;
  Tensor *weight_, *bias_;
};

}  // namespace

int64_t groups_of(const NormOptions& o) {
  const int64_t groups = o.groups > 0 ? o.groups : o.hidden < 128 ? 16 : 32;
  MB_CHECK(o.hidden % groups == 0, "group normalization: {} channels do not part into {} groups of equal size",
           o.hidden, groups);
  return groups;
}

std::unique_ptr<Norm> make_group(const NormOptions& o) {
  static std::set<int64_t> warned;                  // once for all norms of a model
  if (groups_of(o) == o.hidden && warned.insert(o.hidden).second)
    std::cerr << format("group: {} channels in {} groups, so each channel is its own mean: the norm gives its bias, "
                        "whatever its input is. Take fewer groups or more channels.\n", o.hidden, o.hidden);
  return std::make_unique<GroupNorm>(o.hidden, groups_of(o), own_eps(o));
}

}  // namespace minbert
