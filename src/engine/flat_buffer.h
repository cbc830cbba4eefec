// Flat buffers: many tensors end to end in one block of memory, as all parameters of a model are,
// and their gradients. Only this file decides where a tensor's values or its gradient lie.
#pragma once

#include <vector>

#include "minbert/tensor.h"

namespace minbert {

struct FlatBuffer {
  // A block of exact size, outside of the pool, since it lives as long as its model.
  static Tensor zeros(int64_t elements);
  // A tensor without values: of_values gives some to it and to all its copies.
  static Tensor without_values(Shape shape);
  // Gives each tensor its place in one buffer. Its values are not set: a large model then takes
  // memory as its parameters are drawn or read. Each begins at a multiple of 64 bytes: matrix
  // products want it.
  static void of_values(const std::vector<Tensor>& list);
  // Likewise the gradients that backward() will give them; returns the buffer, filled with 0.
  static Tensor of_gradients(const std::vector<Tensor>& list);
  // backward() writes the gradient of x to this tensor of its shape; no tensor: to a new one.
  static void set_gradient(const Tensor& x, Tensor storage);
  // Makes the gradient of x 0, if backward() has not reached it.
  static void complete_gradient(const Tensor& x);
};

}  // namespace minbert
