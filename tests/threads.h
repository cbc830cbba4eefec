// Results that must not depend on the number of threads.
#pragma once

#include <doctest/doctest.h>
#include <omp.h>

#include <initializer_list>

namespace minbert::test {

// f's result with so many threads; all must be equal bit for bit.
template <class F>
auto on_threads(const F& f, std::initializer_list<int> counts = {1, 2, 5}) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(*counts.begin());
  const auto first = f();
  for (const int threads : counts) {
    INFO(threads << " threads");
    omp_set_num_threads(threads);
    CHECK(f() == first);
  }
  omp_set_num_threads(before);
  return first;
}

}  // namespace minbert::test
