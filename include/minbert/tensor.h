// Tensor: a contiguous row-major array of `real` on one device; and Indices, its integer sibling.
//
// A Tensor is a handle: copies share the same values and the same gradient. There are no strides
// and no other element types. Two tensors share storage only by reshape or detach, or as parameters
// inside one flat buffer.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

#include "minbert/device.h"
#include "minbert/error.h"

namespace minbert {

#ifdef MINBERT_DOUBLE
using real = double;                               // the library a second time, for gradient checks
#else
using real = float;
#endif

// The sizes of a tensor, outermost first; at most 4 of them. Shape{} is a scalar's.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes);
  int rank() const { return rank_; }
  int64_t operator[](int i) const { return sizes_[size_t(i)]; }
  int64_t size() const;                            // the product of all sizes, 1 for a scalar
  Shape without_first() const;                     // of x[i]
  bool operator==(const Shape&) const = default;
  friend std::ostream& operator<<(std::ostream&, const Shape&);   // [512, 768]

 private:
  std::array<int64_t, 4> sizes_{};
  int rank_ = 0;
};

class Storage;                          // a block of a device's memory pool (src/engine/storage.h)

class Tensor {
 public:
  Tensor() = default;                              // no tensor: bool(t) is false
  // Values are not initialised. Error if there is no memory left.
  explicit Tensor(Shape shape, Device device = default_device());
  static Tensor zeros(Shape shape, Device device = default_device());
  static Tensor full(Shape shape, real value, Device device = default_device());
  static Tensor from(Shape shape, std::span<const real> values, Device device = default_device());
  static Tensor from(Shape shape, std::initializer_list<real> values) {
    return from(shape, std::span<const real>(values.begin(), values.size()));
  }
  static Tensor randn(Shape shape, uint64_t seed = 0);       // N(0, 1), the same for the same seed

  explicit operator bool() const { return impl_ != nullptr; }
  bool is(const Tensor& other) const { return impl_ == other.impl_; }
  const Shape& shape() const;
  int64_t size() const { return shape().size(); }
  int64_t rows() const;                            // the product of all sizes but the last
  int64_t cols() const;                            // the last size; 1 for a scalar
  Device device() const;

  real* data() const;                              // on the tensor's device
  real item() const;                               // the value of a one-element tensor
  std::vector<real> values() const;                // a copy on the host
  // The values where the host can read them: on the CPU they are this tensor's own, from a GPU they
  // are copied into `copy`, which must live as long as the span. on_host, values and item wait for
  // a GPU.
  std::span<const real> on_host(std::vector<real>& copy) const;
  void copy_from(std::span<const real> values) const;       // host to this tensor, sizes must agree
  Tensor reshape(Shape shape) const;               // the same storage; differentiable
  Tensor detach() const;                           // the same storage, cut off from the tape
  Tensor operator[](int64_t i) const;              // x[i], as in NumPy; differentiable

  // Gradients. A leaf (parameter) asks for one with set_requires_grad; results inherit the request.
  bool requires_grad() const;
  const Tensor& set_requires_grad(bool on) const;
  Tensor grad() const;                             // no tensor until backward has reached this one
  void zero_grad() const;                          // the next backward overwrites instead of adding
  void retain_grad() const;                        // keep the gradient of an intermediate result

 private:
  struct Impl;                                     // src/engine/tape.h
  static Tensor view(std::shared_ptr<Storage> storage, int64_t offset, Shape shape);
  Impl& impl() const;                              // Error for no tensor
  Storage& storage() const;                        // Error for one without values
  std::shared_ptr<Impl> impl_;
  friend class Tape;
  friend class Grads;
  friend struct FlatBuffer;                        // src/engine/flat_buffer.h
};

// In NumPy's form. Of more than 1000 values, each dimension shows its first and last three.
std::ostream& operator<<(std::ostream& out, const Tensor& x);

// The first NaN or infinity among the values, where there is one.
std::optional<real> non_finite(std::span<const real> values);

// Integers that never change: token ids, offsets, labels, task ids. Copies share them.
class Indices {
 public:
  Indices() = default;
  Indices(std::vector<int32_t> values)
      : list_(std::make_shared<List>(List{std::move(values), {}})) {}
  Indices(std::initializer_list<int32_t> values) : Indices(std::vector<int32_t>(values)) {}
  static Indices range(int64_t begin, int64_t end);         // begin, begin+1, ... end-1
  explicit operator bool() const { return list_ != nullptr; }       // true of an empty list, too
  int64_t size() const { return list_ ? int64_t(list_->values.size()) : 0; }
  int32_t operator[](int64_t i) const { return list_->values[size_t(i)]; }
  const int32_t* begin() const { return list_ ? list_->values.data() : nullptr; }
  const int32_t* end() const { return begin() + size(); }
  const int32_t* data(Device device) const;   // copied to a GPU at the first call; nullptr if empty

 private:
  struct List {
    std::vector<int32_t> values;
    std::shared_ptr<Storage> on_gpu;
  };
  std::shared_ptr<List> list_;
};

}  // namespace minbert
