// No normalization: what the other norms are compared with.
//
//   Paper       The Benefits of Normalization Layers in Transformers, the models without one [NT norm.none]
//   Equation    y = x
//   Shapes      x, y [T,H]
//   Starts as   the identity; a LayerNorm checkpoint's weight and bias find no use
//   Deviations  none
#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

struct None : Norm {
  Tensor forward(const ResidualSum& x, const Batch&) const override { return x; }
  Tensor composed(const Tensor& x, const Batch&) const override { return x; }
};

}  // namespace

std::unique_ptr<Norm> make_none(const NormOptions&) { return std::make_unique<None>(); }

}  // namespace minbert
