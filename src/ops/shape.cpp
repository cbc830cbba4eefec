// Choosing rows and columns, and joining columns.
#include <algorithm>
#include <numeric>

#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

struct CopyRows {                                   // to[row] (+)= from[row of rows], `cols` columns of wider matrices
  const real* from;
  int64_t from_ld;
  const int32_t* rows;                              // nullptr: row r from row r
  Target to;
  int64_t to_ld;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const real* x = from + (rows ? rows[row] : row) * from_ld;
    const int64_t begin = row * to_ld;
    const Target y = to;
    team.each(cols, [=](int i) { y(begin + i, x[i]); });
  }
};

// Which rows of dy are of each row of dx: order[begin[k]] .. order[begin[k+1] - 1], rising, are of ids[k].
struct RowsById {
  Indices ids, begin, order;
  explicit RowsById(const Indices& rows) {
    std::vector<int32_t> sorted(size_t(rows.size())), first, distinct;
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), [&](int32_t r, int32_t q) { return rows[r] < rows[q]; });
    for (int32_t k = 0; k < int32_t(sorted.size()); ++k)
      if (const int32_t id = rows[sorted[size_t(k)]]; distinct.empty() || id != distinct.back())
        distinct.push_back(id), first.push_back(k);
    first.push_back(int32_t(sorted.size()));
    ids = std::move(distinct), begin = std::move(first), order = std::move(sorted);
  }
};

// dx[ids[k]] += the sum of its rows of dy, in their order: no two rows of the program meet.
struct AddById {
  const real* dy;
  const int32_t *ids, *begin, *order;
  int cols;
  real* dx;
  template <class Team>
  HD void operator()(Team team, int64_t k) const {
    real* to = dx + int64_t(ids[k]) * cols;
    for (int r = begin[k]; r < begin[k + 1]; ++r) {
      const real* from = dy + int64_t(order[r]) * cols;
      team.each(cols, [=](int i) { to[i] += from[i]; });
    }
  }
};

// A few ids with many rows each, such as segments, are summed as columns are.
void scatter(const Tensor& dy, const Indices& rows, const Sink& dx) {
  const Device device = dy.device();
  const int64_t cols = dy.cols();
  if (dx.to.rows() <= 8)
    return launch_column_sums(device, rows.size(), cols, int(dx.to.rows()), rows.data(device), dx,
                              Element{dy.data(), cols});
  dx.zero_unless_add();
  const RowsById by(rows);
  launch_rows(device, by.ids.size(), dy.size(),
              AddById{dy.data(), by.ids.data(device), by.begin.data(device), by.order.data(device), int(cols),
                      dx.to.data()});
}

Tensor gather(const char* name, const Tensor& x, const Indices& rows) {
  const int64_t count = rows.size(), cols = x.cols();
  for (const int32_t r : rows)
    MB_CHECK(r >= 0 && r < x.rows(), "{}: index {} is outside of 0..{}", name, r, x.rows() - 1);
  Tensor y({count, cols}, x.device());
  launch_rows(x.device(), count, y.size(), CopyRows{x.data(), cols, rows.data(x.device()), y, cols, int(cols)});
  return record(name, y, {x}, [rows](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) { scatter(dy, rows, dx); });
  });
}

}  // namespace

Tensor gather_rows(const Tensor& x, const Indices& rows) { return gather("gather_rows", x, rows); }
Tensor embedding(const Tensor& table, const Indices& ids) { return gather("embedding", table, ids); }

Tensor concatenate_columns(const std::vector<Tensor>& parts) {
  MB_CHECK(!parts.empty(), "concatenate_columns: nothing to join");
  const int64_t rows = parts[0].rows();
  int64_t cols = 0;
  for (const Tensor& part : parts) {
    MB_CHECK(part.rows() == rows, "concatenate_columns: {} beside {}", part.shape(), parts[0].shape());
    cols += part.cols();
  }
  Tensor y({rows, cols}, parts[0].device());
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    launch_rows(y.device(), rows, part.size(),
                CopyRows{part.data(), part.cols(), nullptr, {y.data() + begin, false}, cols, int(part.cols())});
    begin += part.cols();
  }
  std::vector<int64_t> widths;
  for (const Tensor& part : parts) widths.push_back(part.cols());
  return record("concatenate_columns", y, parts, [widths, rows, cols](const Tensor& dy, Grads& g) {
    const real* from = dy.data();
    for (size_t i = 0; i < widths.size(); from += widths[i], ++i)
      g(int(i), [&](Sink dx) {
        launch_rows(dy.device(), rows, dx.to.size(), CopyRows{from, cols, nullptr, dx, widths[i], int(widths[i])});
      });
  });
}

Tensor slice_columns(const Tensor& x, int64_t begin, int64_t end) {
  MB_CHECK(0 <= begin && begin < end && end <= x.cols(), "slice_columns: columns {} to {} of {}", begin, end,
           x.shape());
  const int64_t rows = x.rows(), cols = x.cols(), width = end - begin;
  Tensor y({rows, width}, x.device());
  launch_rows(x.device(), rows, y.size(), CopyRows{x.data() + begin, cols, nullptr, y, width, int(width)});
  return record("slice_columns", y, {x}, [rows, cols, width, begin](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      dx.zero_unless_add();
      launch_rows(dy.device(), rows, dy.size(),
                  CopyRows{dy.data(), width, nullptr, {dx.to.data() + begin, true}, cols, int(width)});
    });
  });
}

}  // namespace minbert
