// Where tensors and their gradients lie in flat buffers.
#include "engine/flat_buffer.h"

#include "engine/fill.h"
#include "engine/tape.h"

namespace minbert {
namespace {

// Where each tensor begins in a buffer, and the length of the whole.
std::vector<int64_t> offsets_of(const std::vector<Tensor>& list) {
  constexpr int64_t line = 64 / int64_t(sizeof(real));
  std::vector<int64_t> offsets = {0};
  for (const Tensor& x : list)
    offsets.push_back(offsets.back() + (x.size() + line - 1) / line * line);
  return offsets;
}

std::shared_ptr<Storage> block_of(int64_t elements) {
  return Storage::unpooled(elements * int64_t(sizeof(real)), default_device());
}

}  // namespace

Tensor FlatBuffer::zeros(int64_t elements) {
  const Tensor buffer = Tensor::view(block_of(elements), 0, {elements});
  fill(buffer, 0);
  return buffer;
}

Tensor FlatBuffer::without_values(Shape shape) { return Tensor::view(nullptr, 0, shape); }

void FlatBuffer::of_values(const std::vector<Tensor>& list) {
  const std::vector<int64_t> offsets = offsets_of(list);
  const std::shared_ptr<Storage> block = block_of(offsets.back());
  for (size_t i = 0; i < list.size(); ++i) {
    Tensor::Impl& x = list[i].impl();
    x.storage = block;
    x.offset = offsets[i];
    x.gradient->device = block->device();
  }
}

Tensor FlatBuffer::of_gradients(const std::vector<Tensor>& list) {
  const std::vector<int64_t> offsets = offsets_of(list);
  const Tensor buffer = zeros(offsets.back());
  for (size_t i = 0; i < list.size(); ++i) {
    list[i].zero_grad();
    set_gradient(list[i], Tensor::view(buffer.impl().storage, offsets[i], list[i].shape()));
  }
  return buffer;
}

void FlatBuffer::set_gradient(const Tensor& x, Tensor storage) {
  x.impl().gradient->storage = std::move(storage);
}

void FlatBuffer::complete_gradient(const Tensor& x) {
  Gradient& gradient = *x.impl().gradient;
  if (gradient.value) return;
  gradient.value = gradient.storage;
  fill(gradient.value, 0);
}

}  // namespace minbert
