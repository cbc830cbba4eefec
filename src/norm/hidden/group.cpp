// Group normalization: every token's channels in groups, each by its own mean and variance.
//
//   Paper       Wu & He, Group Normalization, 2018, eq. 1-3, 7; [NT norm.group]
//   Equation    y = (x - μ_g) / √(σ_g² + ε) ⊙ γ + β
//   Shapes      x, y [T,H]   γ, β [H]   μ_g, σ_g² (biased) over the H/G channels of group g
//   Starts as   γ = 1, β = 0, or a LayerNorm checkpoint's (trained for one group of all channels)
//   Deviations  the image of the paper is one token here, and the sentence in group-sentence. With
//               one group it is LayerNorm. If each channel is a group, it equals its mean, and
//               y = β whatever x is: a warning.
#include <iostream>
#include <set>

#include "norm/hidden/groups.h"
#include "minbert/norm.h"

namespace minbert {
namespace {

class GroupNorm : public AffineNorm {
 public:
  explicit GroupNorm(const NormOptions& o)
      : AffineNorm(o.hidden, o.number("eps")), groups_(groups_of(o)) {}

  Tensor composed(const Tensor& x, const Batch&) const override {
    const Tensor cells = x.reshape({x.rows() * groups_, x.cols() / groups_});     // one row a group
    const Tensor mu = mean_rows(cells);
    const Tensor sigma2 = mean_rows(square(cells - mu));
    return ((cells - mu) / sqrt(sigma2 + eps_)).reshape(x.shape()) * weight_ + bias_;
  }

 protected:
  Tensor forward(const Tensor& x, const Batch&) const override {
    const Tensor cells = x.reshape({x.rows() * groups_, x.cols() / groups_});
    return layer_norm(cells, {}, {}, eps_).reshape(x.shape()) * weight_ + bias_;
  }

 private:
  int64_t groups_;
};

}  // namespace

int64_t groups_of(const NormOptions& o) {
  const double given = o.number("groups", o.hidden < 128 ? 16 : 32);
  const int64_t groups = int64_t(given);
  MB_CHECK(double(groups) == given, "group normalization: {} is not a whole number of groups",
           given);
  MB_CHECK(o.hidden % groups == 0,
           "group normalization: {} channels do not part into {} groups of equal size", o.hidden,
           groups);
  return groups;
}

NormEntry norm_group = {
    .name = "group",
    .formula = "(x-μ)/√(σ²+ε)⊙γ+β",
    .paper = "Wu & He 2018",
    .over = "a token's group of channels",
    .parameters = "2H",
    .options = {{"eps", "1e-5"}, groups_option},
    .make = [](const NormOptions& o) -> std::unique_ptr<Norm> {
      static std::set<int64_t> warned;              // once for all norms of a model
      if (groups_of(o) == o.hidden && warned.insert(o.hidden).second)
        std::cerr << format(
            "group: {} channels in {} groups, so each channel is its own mean: the norm gives its "
            "bias, whatever its input is. Take fewer groups or more channels.\n",
            o.hidden, o.hidden);
      return std::make_unique<GroupNorm>(o);
    },
};

}  // namespace minbert
