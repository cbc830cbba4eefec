// Filling and copying tensors.
#pragma once

#include "minbert/tensor.h"

namespace minbert {

void fill(const Tensor& to, real value);
void copy_or_add(const Tensor& from, const Tensor& to, bool add);   // to = from, or to += from; sizes agree

}  // namespace minbert
