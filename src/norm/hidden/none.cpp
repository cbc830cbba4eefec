// No normalization: the baseline of the other norms.
//
//   Paper       The Benefits of Normalization Layers in Transformers, the models without one [NT
//               norm.none]
//   Equation    y = x
//   Shapes      x, y [T,H]
//   Starts as   the identity; a LayerNorm checkpoint's weight and bias are not used
//   Deviations  none
#include "minbert/norm.h"

namespace minbert {
namespace {

class NoNorm : public Norm {
 public:
  Tensor composed(const Tensor& x, const Batch&) const override { return x; }

 protected:
  Tensor forward(const Tensor& x, const Batch&) const override { return x; }
};

}  // namespace

NormEntry norm_none = {
    .name = "none",
    .formula = "x",
    .over = "nothing",
    .parameters = "0",
    .make = [](const NormOptions&) -> std::unique_ptr<Norm> { return std::make_unique<NoNorm>(); },
};

}  // namespace minbert
