// Filling and copying tensors.
#include "engine/fill.h"

#include "engine/launch.h"

namespace minbert {
namespace {
struct Fill {
  real* to;
  real value;
  HD void operator()(int64_t i) const { to[i] = value; }
};
struct Copy {
  const real* from;
  Target to;
  HD void operator()(int64_t i) const { to(i, from[i]); }
};
}  // namespace

void fill(const Tensor& to, real value) { launch_elements(to.device(), to.size(), Fill{to.data(), value}); }
void copy_or_add(const Tensor& from, const Tensor& to, bool add) {
  launch_elements(to.device(), to.size(), Copy{from.data(), {to.data(), add}});
}
Tensor copy_of(const Tensor& t) {
  const Tensor copy(t.shape(), t.device());
  copy_or_add(t, copy, false);
  return copy;
}

}  // namespace minbert
