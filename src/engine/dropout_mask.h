// A dropout mask as a function of key, row and column: 0 with probability p, else 1/(1-p).
//
// A Philox block has four words. With n = ceil(cols/4), block j gives the factors of columns j, j+n, j+2n, j+3n of its
// row: neighbouring blocks serve neighbouring columns, so the loop over blocks vectorises, and a GPU reads whole lines.
#pragma once

#include "engine/launch.h"

namespace minbert {

class DropoutMask {
 public:
  DropoutMask(double p, RandomKey key)
      : threshold_(uint32_t(p * 4294967296.0)), keep_(real(1 / (1 - p))), key_(key) {}

  // Calls f(column, factor) for every column of the row.
  template <class Team, class F>
  HD void each(Team team, int cols, int64_t row, F f) const {
    const int n = (cols + 3) / 4;
    const RandomKey key = key_;
    const uint32_t threshold = threshold_;
    const real keep = keep_;
    team.each(cols - 3 * n, [=](int j) {            // blocks whose four columns all exist
      const PhiloxBlock block = key.block(uint32_t(j), uint32_t(row));
      f(j, block.word[0] >= threshold ? keep : real(0));
      f(j + n, block.word[1] >= threshold ? keep : real(0));
      f(j + 2 * n, block.word[2] >= threshold ? keep : real(0));
      f(j + 3 * n, block.word[3] >= threshold ? keep : real(0));
    });
    const int first = cols - 3 * n > 0 ? cols - 3 * n : 0;
    team.each(n - first, [=](int k) {               // the last blocks, which lack some columns
      const int j = first + k;
      const PhiloxBlock block = key.block(uint32_t(j), uint32_t(row));
      for (int w = 0; w < 4; ++w)
        if (j + w * n < cols) f(j + w * n, block.word[w] >= threshold ? keep : real(0));
    });
  }

 private:
  uint32_t threshold_;
  real keep_;
  RandomKey key_;
};

}  // namespace minbert
