// Filling and copying tensors.
#pragma once

#include "minbert/tensor.h"

namespace minbert {

void fill(const Tensor& to, real value);
Tensor copy_of(const Tensor& t);                    // where it is, off the tape
void copy_or_add(const Tensor& from, const Tensor& to, bool add);   // to = from, or to += from; sizes agree

}  // namespace minbert
