// A dropout mask as a function of key, row and column: 0 with probability p, else 1/(1-p).
//
// A Philox block has four words, eight halves of 16 bits; p counts in steps of 2^-16. With n =
// ceil(cols/8), block j gives the factors of columns j, j+n, ..., j+7n of its row. Of 20 columns:
//   block 0   0 3 6  9 12 15 18       (7 n = 21 and more are not there: a block that lacks columns)
//   block 1   1 4 7 10 13 16 19
//   block 2   2 5 8 11 14 17
// Neighbouring blocks serve neighbouring columns, so the loop over blocks vectorises, and a GPU
// reads whole lines.
#pragma once

#include "engine/launch.h"

namespace minbert {

class DropoutMask {
 public:
  DropoutMask(double p, RandomKey key)  // 0 <= p < 1
      : threshold_(uint32_t(std::min(p * 65536 + 0.5, 65535.0))),
        keep_(real(1 / (1 - p))),
        key_(key) {}

  // Calls f(column, factor) for every column of the row.
  template <class Team, class F>
  HD void each(Team team, int cols, int64_t row, F f) const {
    const int n = (cols + 7) / 8, whole = cols - 7 * n > 0 ? cols - 7 * n : 0;
    const RandomKey key = key_;
    const uint32_t threshold = threshold_;
    const real keep = keep_;
    const auto factor = [=](const PhiloxBlock& block, int half) {
      const uint32_t word = block.word[half / 2];
      return (half % 2 ? word >> 16 : word & 0xFFFFu) >= threshold ? keep : real(0);
    };
    team.each(whole, [=](int j) {                   // blocks whose eight columns all exist
      const PhiloxBlock block = key.block(uint32_t(j), uint32_t(row));
      f(j, factor(block, 0));
      f(j + n, factor(block, 1));
      f(j + 2 * n, factor(block, 2));
      f(j + 3 * n, factor(block, 3));
      f(j + 4 * n, factor(block, 4));
      f(j + 5 * n, factor(block, 5));
      f(j + 6 * n, factor(block, 6));
      f(j + 7 * n, factor(block, 7));
    });
    team.each(n - whole, [=](int k) {               // the last blocks, which lack some columns
      const int j = whole + k;
      const PhiloxBlock block = key.block(uint32_t(j), uint32_t(row));
      for (int half = 0; half < 8; ++half)
        if (j + half * n < cols) f(j + half * n, factor(block, half));
    });
  }

 private:
  uint32_t threshold_;
  real keep_;
  RandomKey key_;
};

}  // namespace minbert
