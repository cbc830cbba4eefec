// A loop over threads that may throw: out of an OpenMP loop an exception would end the program.
#pragma once

#include <cstddef>
#include <exception>

namespace minbert {

// f(i) for i in 0 .. n-1, on one thread if that is little work. Throws what one of them threw.
template <class F>
void parallel_each(size_t n, const F& f, bool little = false) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic) if (n > 1 && !little)
  for (size_t i = 0; i < n; ++i) {
    try {
      f(i);
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace minbert
