// Every norm's entry, which stands at the end of its file, in the order of the tables. To add a
// norm, add its entry here.
#pragma once

#include "minbert/norm.h"

namespace minbert {

#define MB_NORMS                                                                                  \
  norm_none, norm_layer, norm_layer_simple, norm_variance_only, norm_rms, norm_conditional_layer, \
      norm_batch, norm_power, norm_group, norm_group_sentence, norm_instance
#define MB_CLS_NORMS cls_none, cls_z, cls_min_max, cls_l2, cls_batch, cls_whitening, cls_iso_bn

extern const NormEntry MB_NORMS, MB_CLS_NORMS;

}  // namespace minbert
