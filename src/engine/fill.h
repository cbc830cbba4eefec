// Filling and copying tensors.
#pragma once

#include "minbert/tensor.h"

namespace minbert {

void fill(const Tensor& t, real value);
Tensor copy_of(const Tensor& t);                    // on the same device, not recorded
// target = source, or target += source; sizes agree
void copy_or_add(const Tensor& source, const Tensor& target, bool add);

}  // namespace minbert
