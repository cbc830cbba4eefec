// No normalization of hidden states or of [CLS]: the yardstick of the other norms.
//
//   Paper       The Benefits of Normalization Layers in Transformers, the models without one
//               [NT norm.none]; of [CLS]: BERT, Devlin et al. 2019
//   Equation    y = x
//   Shapes      x, y [T,H], or [B,H] of [CLS]
//   Starts as   the identity; a LayerNorm checkpoint's weight and bias are not used
//   Deviations  none
#include "norm/entries.h"

namespace minbert {

struct NoNorm : Norm {
  explicit NoNorm(const NormOptions&) {}
  Tensor forward(const Tensor& x, const Batch&) const override {
    return x;                                            // y = x  [NT norm.none]
  }
};

const NormEntry norm_none = {
    .name = "none",
    .formula = "x",
    .over = "nothing",
    .make = new_norm<NoNorm>,
};

const NormEntry cls_none = {
    .name = "none",
    .formula = "h",
    .paper = "Devlin et al. 2019",
    .over = "nothing",
    .place = ClsPlace::pooled,
    .make = new_norm<NoNorm>,
};

}  // namespace minbert
