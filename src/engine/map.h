// The machinery of launch_map (launch.h): the arrays of a kernel on elements, and its function on each element.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "minbert/autograd.h"
#include "minbert/random.h"

namespace minbert {

// The array that a kernel writes: its results replace the elements (a new tensor), or are added to them
// (a gradient with earlier contributions, see Sink).
struct Target {
  real* data;
  bool add;
  HD Target(real* array, bool adds) : data(array), add(adds) {}
  Target(const Tensor& t) : data(t.data()), add(false) {}
  Target(const Sink& gradient) : data(gradient.tensor.data()), add(gradient.add) {}
  HD void operator()(int64_t i, real v) const { data[i] = add ? data[i] + v : v; }
};

struct InPlace {                                    // an array whose elements a kernel reads and overwrites
  real* data;
};

// A GPU thread reads and writes four neighbours in one access.
struct alignas(16) Four {
  real v[4];
};
template <class F, class... Arrays>
struct Map {
  F f;
  std::tuple<Arrays...> arrays;
  HD void operator()(int64_t i) const { apply<real>(i); }
  template <class V>
  HD void apply(int64_t i) const {                  // V real: element i; V Four: elements 4 i .. 4 i + 3
    each<V>(i, std::index_sequence_for<Arrays...>{});
  }

 private:
  template <class V, size_t... k>
  HD void each(int64_t i, std::index_sequence<k...>) const {
    V values[] = {read<V>(std::get<k>(arrays), i)...};
    for (int j = 0; j < width<V>; ++j) f(element(values[k], j)...);
    (write(std::get<k>(arrays), i, values[k]), ...);
  }
  template <class V>
  static constexpr int width = int(sizeof(V) / sizeof(real));
  template <class V>
  HD static real& element(V& v, int j) {
    return reinterpret_cast<real*>(&v)[j];
  }
  template <class V>
  HD static V read(const real* array, int64_t i) {
    return reinterpret_cast<const V*>(array)[i];
  }
  template <class V>
  HD static V read(const InPlace& array, int64_t i) {
    return read<V>(array.data, i);
  }
  template <class V>
  HD static V read(const Target&, int64_t) {
    return {};
  }
  template <class V>
  HD static void write(const real*, int64_t, const V&) {}
  template <class V>
  HD static void write(const InPlace& array, int64_t i, const V& v) {
    reinterpret_cast<V*>(array.data)[i] = v;
  }
  template <class V>
  HD static void write(const Target& target, int64_t i, V v) {
    if (target.add) {
      V before = read<V>(target.data, i);
      for (int j = 0; j < width<V>; ++j) element(v, j) += element(before, j);
    }
    reinterpret_cast<V*>(target.data)[i] = v;
  }
};

}  // namespace minbert
