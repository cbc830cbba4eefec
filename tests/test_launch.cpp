// Launching on the CPU: every element once, sums in a fixed order. tests/test_cuda.cpp has the GPU's launchers.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/launch.h"
#include "gradcheck.h"

namespace minbert::test {

TEST_CASE("launch: sums over columns are the same for any number of threads, and by group") {
  const int64_t rows = 300, cols = 130;
  const Tensor x = normal("columns", {rows, cols}), one({2, cols}, Device::cpu), wide({2, cols}, Device::cpu);
  std::vector<int32_t> group;
  for (int32_t r = 0; r < rows; ++r) group.push_back(r % 3 == 0);
  const real* values = x.data();
  const auto element = [values](int64_t row, int64_t col) { return values[row * 130 + col]; };
  launch_column_sums(Device::cpu, rows, cols, 2, group.data(), {wide.data(), false}, element);
  for (int64_t g = 0; g < 2; ++g)
    for (int64_t c = 0; c < cols; ++c) {
      real s = 0;
      for (int64_t r = 0; r < rows; ++r)
        if (group[size_t(r)] == g) s += element(r, c);
      one.data()[g * cols + c] = s;
    }
  CHECK(one.values() == wide.values());
}

TEST_CASE("launch: every element once, for every length") {
  for (const int64_t n : {0, 1, 4095, 4096, 4097, 20000}) {
    std::vector<int> visits(size_t(n), 0);
    int* at = visits.data();
    launch_elements(Device::cpu, n, [at](int64_t i) { ++at[i]; });
    CHECK(std::count(visits.begin(), visits.end(), 1) == n);
  }
}

}  // namespace minbert::test
