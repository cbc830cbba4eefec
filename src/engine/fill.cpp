// Filling and copying tensors.
#include "engine/fill.h"

#include "engine/launch.h"

namespace minbert {
namespace {
struct Constant {
  real value;
  HD void operator()(real& to) const { to = value; }
};
struct Same {
  HD void operator()(real from, real& to) const { to = from; }
};
}  // namespace

void fill(const Tensor& to, real value) {
  launch_map(to.device(), to.size(), Constant{value}, Target(to));
}
void copy_or_add(const Tensor& from, const Tensor& to, bool add) {
  launch_map(to.device(), to.size(), Same{}, from.data(), Target{to.data(), add});
}
Tensor copy_of(const Tensor& t) {
  const Tensor copy(t.shape(), t.device());
  copy_or_add(t, copy, false);
  return copy;
}

}  // namespace minbert
