// Every norm's entry, which stands at the end of its file. To add a norm, add its entry here and to
// the table in norm.cpp.
#pragma once

#include "minbert/norm.h"

namespace minbert {

extern const NormEntry norm_none, norm_layer, norm_layer_simple, norm_variance_only, norm_rms,
    norm_conditional_layer, norm_batch, norm_power, norm_group, norm_group_sentence, norm_instance;
extern const NormEntry cls_none, cls_z, cls_min_max, cls_l2, cls_batch, cls_whitening, cls_iso_bn;

}  // namespace minbert
