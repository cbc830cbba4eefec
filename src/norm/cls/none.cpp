// No normalization of [CLS]: the baseline of the others.                         Devlin et al. 2019
#include "minbert/cls_norm.h"

namespace minbert {
namespace {

class NoClsNorm : public ClsNorm {
 protected:
  Tensor forward(const Tensor& h) const override { return h; }
};

}  // namespace

ClsNormEntry cls_none = {
    .name = "none",
    .formula = "h",
    .paper = "Devlin et al. 2019",
    .over = "nothing",
    .statistics = "none",
    .parameters = "0",
    .place = "pooled",
    .make = [](const NormOptions&) -> std::unique_ptr<ClsNorm> {
      return std::make_unique<NoClsNorm>();
    },
};

}  // namespace minbert
