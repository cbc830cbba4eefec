// Filling and copying tensors.
#pragma once

#include "minbert/tensor.h"

namespace minbert {

void fill(const Tensor& t, real value);
Tensor copy_of(const Tensor& t);                    // on the same device, not recorded
void copy_or_add(const Tensor& x, const Tensor& y, bool add);       // y = x, or y += x; sizes agree

}  // namespace minbert
