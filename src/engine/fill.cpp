// Filling and copying tensors.
#include "engine/fill.h"

#include "engine/launch.h"

namespace minbert {
namespace {
struct Fill {
  real value;
  real* x;
  HD void operator()(int64_t i) const { x[i] = value; }
};
struct Copy {
  const real* x;
  Target y;
  HD void operator()(int64_t i) const { y(i, x[i]); }
};
}  // namespace

void fill(const Tensor& t, real value) {
  launch_elements(t.device(), t.size(), Fill{value, t.data()});
}
void copy_or_add(const Tensor& source, const Tensor& target, bool add) {
  launch_elements(target.device(), target.size(), Copy{source.data(), {target.data(), add}});
}
Tensor copy_of(const Tensor& t) {
  const Tensor copy(t.shape(), t.device());
  copy_or_add(t, copy, false);
  return copy;
}

}  // namespace minbert
