// Sums and means over segments of a batch's rows: over each sentence, or over the whole batch.
//
// Sums are by launch_column_sums: in the order of the rows, for any number of threads.
#pragma once

#include "engine/launch.h"
#include "minbert/batch.h"

namespace minbert {

struct SegmentSizes {                               // a view: the number of segment s's rows
  const int32_t* offsets;                           // nullptr: one segment of all rows
  int64_t rows;
  HD real operator[](int64_t s) const { return real(offsets ? offsets[s + 1] - offsets[s] : rows); }
};

struct DivideRow {
  template <class Team>
  HD void operator()(Team team, int n, real* x, real divisor) const {
    team.each(n, [=](int i) { x[i] /= divisor; });
  }
};

struct Segments {
  int64_t rows, count = 1;
  Indices offsets = {}, of_row = {};                // [S+1], [T]; empty: one segment
  explicit Segments(int64_t rows_here) : rows(rows_here) {}
  explicit Segments(const Batch& b)
      : rows(b.tokens()), count(b.sentences()), offsets(b.offsets), of_row(b.sentence) {}
  SegmentSizes sizes(Device device) const { return {offsets.data(device), rows}; }

  // [S,H], over the rows of each segment: f(i, of each array its row)
  template <class F, class... Arrays>
  Tensor sums(const Grid& x, const F& f, const Arrays&... arrays) const {
    const Tensor result({count, x.cols}, x.device);
    launch_column_sums(x, of_row, Sink{result, false}, f, arrays...);
    return result;
  }
  template <class F, class... Arrays>
  Tensor means(const Grid& x, const F& f, const Arrays&... arrays) const {
    const Tensor result = sums(x, f, arrays...);
    launch_rows(result, DivideRow{}, result, sizes(x.device));
    return result;
  }
};

}  // namespace minbert
