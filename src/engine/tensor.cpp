// Tensors: handles on storage, and their shapes.
#include "minbert/tensor.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <numeric>

#include "engine/cuda.h"
#include "engine/fill.h"
#include "engine/tape.h"
#include "minbert/random.h"

namespace minbert {

Shape::Shape(std::initializer_list<int64_t> sizes) : rank_(int(sizes.size())) {
  MB_CHECK(sizes.size() <= sizes_.size(), "a tensor has at most {} dimensions, not {}",
           sizes_.size(), sizes.size());
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  for (const int64_t n : sizes) MB_CHECK(n >= 0, "a tensor's size cannot be negative: {}", *this);
}

Shape Shape::without_first() const {
  Shape rest;
  for (int i = 1; i < rank_; ++i) rest.sizes_[size_t(rest.rank_++)] = (*this)[i];
  return rest;
}

int64_t Shape::size() const {
  int64_t product = 1;
  for (int i = 0; i < rank_; ++i) product *= (*this)[i];
  return product;
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  out << '[';
  for (int i = 0; i < shape.rank(); ++i) out << (i ? ", " : "") << shape[i];
  return out << ']';
}

Tensor::Impl::Impl(std::shared_ptr<Storage> s, int64_t o, Shape sh)
    : storage(std::move(s)), offset(o), shape(sh),
      gradient(std::make_shared<Gradient>()) {
  gradient->shape = shape;
  if (storage) gradient->device = storage->device();
}

Tensor::Tensor(Shape shape, Device device)
    : impl_(std::make_shared<Impl>(Storage::pooled(shape.size() * int64_t(sizeof(real)), device), 0,
                                   shape)) {}

Tensor Tensor::view(std::shared_ptr<Storage> storage, int64_t offset, Shape shape) {
  Tensor t;
  t.impl_ = std::make_shared<Impl>(std::move(storage), offset, shape);
  return t;
}

Tensor Tensor::zeros(Shape shape, Device device) { return full(shape, 0, device); }

Tensor Tensor::full(Shape shape, real value, Device device) {
  Tensor t(shape, device);
  fill(t, value);
  return t;
}

Tensor Tensor::from(Shape shape, std::span<const real> values, Device device) {
  Tensor t(shape, device);
  t.copy_from(values);
  return t;
}

Tensor Tensor::randn(Shape shape, uint64_t seed) {
  Random random(seed, "randn");
  std::vector<real> values(size_t(shape.size()));
  for (real& v : values) v = real(random.normal());
  return from(shape, values);
}

void Tensor::copy_from(std::span<const real> values) const {
  MB_CHECK(int64_t(values.size()) == size(), "{} values for a tensor of {}", values.size(),
           shape());
  if (device() == Device::cuda)
    return cuda::to_device(data(), values.data(), int64_t(values.size_bytes()));
  std::copy(values.begin(), values.end(), data());
}

Tensor::Impl& Tensor::impl() const {
  MB_CHECK(impl_, "this tensor is empty: it was never given a value");
  return *impl_;
}
Storage& Tensor::storage() const {
  MB_CHECK(impl().storage,
           "a parameter {} has no values yet: make Parameters of its model first; if you did, its "
           "module is not a child of the model: child(\"NAME\", module) makes it one",
           shape());
  return *impl_->storage;
}

const Shape& Tensor::shape() const { return impl().shape; }
int64_t Tensor::cols() const { return shape().rank() ? shape()[shape().rank() - 1] : 1; }
int64_t Tensor::rows() const {
  int64_t product = 1;
  for (int i = 0; i + 1 < shape().rank(); ++i) product *= shape()[i];
  return product;
}
Device Tensor::device() const { return storage().device(); }
real* Tensor::data() const { return static_cast<real*>(storage().data()) + impl_->offset; }

real Tensor::item() const {
  MB_CHECK(size() == 1, "item: a tensor of {} is not a single value", shape());
  return values()[0];
}

std::vector<real> Tensor::values() const {
  if (device() == Device::cpu) return std::vector<real>(data(), data() + size());
  std::vector<real> copy(static_cast<size_t>(size()));
  cuda::to_host(copy.data(), data(), size() * int64_t(sizeof(real)));
  return copy;
}
std::span<const real> Tensor::on_host(std::vector<real>& copy) const {
  if (device() == Device::cpu) return {data(), size_t(size())};
  return copy = values();
}

Tensor Tensor::reshape(Shape shape) const {
  MB_CHECK(shape.size() == size(), "reshape: {} values do not fill {} (from {})", size(), shape,
           this->shape());
  return record("reshape", view(impl_->storage, impl_->offset, shape), {*this},
                [](const Tensor& dc, Grads& g) { g.pass(0, dc); });
}

Tensor Tensor::detach() const { return view(impl_->storage, impl_->offset, shape()); }

namespace {
// Prints dimension d of the shape and those after it. v: their values; width: the least of a
// number. Returns the widest number, of four digits.
int print(std::ostream& out, const Shape& shape, int d, std::span<const real> v, int width,
          bool whole) {
  if (d == shape.rank()) {
    std::ostringstream number;
    number << std::setprecision(4) << v[0];
    out << std::setw(width) << number.str();
    return int(number.str().size());
  }
  const bool last = d + 1 == shape.rank();
  const std::string next = last ? ", "
                                : "," + std::string(size_t(shape.rank() - 1 - d), '\n') +
                                      std::string(size_t(d) + 1, ' ');
  const size_t n = size_t(shape[d]), step = n ? v.size() / n : 0;
  int widest = 0;
  out << '[';
  for (size_t i = 0; i < n; ++i) {
    if (i) out << next;
    if (!whole && n > 6 && i == 3) {
      out << "..." << next;
      i = n - 3;
    }
    widest = std::max(widest, print(out, shape, d + 1, v.subspan(i * step, step), width, whole));
  }
  out << ']';
  return widest;
}
}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  if (!x) return out << "no tensor";
  std::vector<real> copy;
  const std::span<const real> values = x.on_host(copy);
  const bool whole = values.size() <= 1000;
  std::ostringstream measured, text;
  print(text, x.shape(), 0, values, print(measured, x.shape(), 0, values, 0, whole), whole);
  return out << text.str();
}

// v - v is 0 for a finite v, else NaN: a sum without branches, as fast as reading the values.
std::optional<real> non_finite(std::span<const real> values) {
  const real* v = values.data();
  const int64_t n = int64_t(values.size());
  real sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum) if (n >= 65536)
  for (int64_t i = 0; i < n; ++i) sum += v[i] - v[i];
  if (sum == 0) return {};
  return *std::find_if(values.begin(), values.end(), [](real x) { return !std::isfinite(x); });
}

Indices Indices::range(int64_t begin, int64_t end) {
  std::vector<int32_t> values(size_t(end - begin));
  std::iota(values.begin(), values.end(), int32_t(begin));
  return values;
}

const int32_t* Indices::data(Device device) const {
  if (device == Device::cpu || size() == 0) return begin();
  if (!list_->on_gpu)
    list_->on_gpu = Storage::copy_of(begin(), size() * int64_t(sizeof(int32_t)), device);
  return static_cast<const int32_t*>(list_->on_gpu->data());
}

bool Tensor::requires_grad() const { return impl_ && impl_->gradient->required; }
const Tensor& Tensor::set_requires_grad(bool on) const {
  MB_CHECK(!impl().gradient->recorded,
           "set_requires_grad: {} is a result; only leaves can be switched", shape());
  impl().gradient->required = on;
  return *this;
}
Tensor Tensor::grad() const { return impl().gradient->value; }
void Tensor::zero_grad() const { impl().gradient->value = {}; }
void Tensor::retain_grad() const { impl().gradient->retained = true; }

}  // namespace minbert
