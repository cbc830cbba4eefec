// Choosing rows and columns, and joining columns.
#include <algorithm>
#include <numeric>

#include "engine/launch.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

// y[row] (+)= x[rows[row]]: `cols` columns of matrices whose rows are x_ld and y_ld elements apart.
struct CopyRows {
  const real* x;
  int64_t x_ld;
  const int32_t* rows;                              // nullptr: y[row] = x[row]
  Target y;
  int64_t y_ld;
  int cols;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    const real* in = x + (rows ? rows[row] : row) * x_ld;
    const int64_t begin = row * y_ld;
    const Target result = y;
    team.each(cols, [=](int i) { result(begin + i, in[i]); });
  }
};

// The rows of dy that were gathered from each row of x: order[begin[k]] .. order[begin[k+1] - 1],
// rising, come from row ids[k].
struct RowsById {
  Indices ids, begin, order;
  explicit RowsById(const Indices& rows) {
    std::vector<int32_t> sorted(size_t(rows.size())), first, distinct;
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](int32_t r, int32_t q) { return rows[r] < rows[q]; });
    for (int32_t k = 0; k < int32_t(sorted.size()); ++k)
      if (const int32_t id = rows[sorted[size_t(k)]]; distinct.empty() || id != distinct.back()) {
        distinct.push_back(id);
        first.push_back(k);
      }
    first.push_back(int32_t(sorted.size()));
    ids = std::move(distinct);
    begin = std::move(first);
    order = std::move(sorted);
  }
};

// dx[ids[k]] += the sum of its rows of dy, in their order. Only row k of the program writes there.
struct AddById {
  const real* dy;
  const int32_t *ids, *begin, *order;
  int cols;
  real* dx;
  template <class Team>
  HD void operator()(Team team, int64_t k) const {
    real* out = dx + int64_t(ids[k]) * cols;
    for (int r = begin[k]; r < begin[k + 1]; ++r) {
      const real* in = dy + int64_t(order[r]) * cols;
      team.each(cols, [=](int i) { out[i] += in[i]; });
    }
  }
};

// Few ids with many rows each, such as segments, are summed by launch_column_sums.
void scatter(const Tensor& dy, const Indices& rows, const Sink& dx) {
  const Device device = dy.device();
  const int64_t cols = dy.cols();
  if (dx.tensor.rows() <= 8)
    return launch_column_sums(device, rows.size(), cols, int(dx.tensor.rows()), rows.data(device),
                              dx, Element{dy.data(), cols});
  dx.zero_unless_add();
  const RowsById by(rows);
  launch_rows(device, by.ids.size(), dy.size(),
              AddById{.dy = dy.data(), .ids = by.ids.data(device), .begin = by.begin.data(device),
                      .order = by.order.data(device), .cols = int(cols), .dx = dx.tensor.data()});
}

Tensor gather(const char* name, const Tensor& x, const Indices& rows) {
  const int64_t count = rows.size(), cols = x.cols();
  for (const int32_t r : rows)
    MB_CHECK(r >= 0 && r < x.rows(), "{}: index {} is outside of 0..{}", name, r, x.rows() - 1);
  Tensor y({count, cols}, x.device());
  launch_rows(y, CopyRows{.x = x.data(), .x_ld = cols, .rows = rows.data(x.device()), .y = y,
                          .y_ld = cols, .cols = int(cols)});
  return record(name, y, {x}, [rows](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) { scatter(dy, rows, dx); });
  });
}

}  // namespace

Tensor gather_rows(const Tensor& x, const Indices& rows) { return gather("gather_rows", x, rows); }
Tensor embedding(const Tensor& table, const Indices& ids) {
  return gather("embedding", table, ids);
}

Tensor concatenate_columns(const std::vector<Tensor>& parts) {
  MB_CHECK(!parts.empty(), "concatenate_columns: nothing to join");
  const int64_t rows = parts[0].rows();
  int64_t cols = 0;
  for (const Tensor& part : parts) {
    MB_CHECK(part.rows() == rows, "concatenate_columns: {} beside {}", part.shape(),
             parts[0].shape());
    cols += part.cols();
  }
  Tensor y({rows, cols}, parts[0].device());
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    launch_rows(part, CopyRows{.x = part.data(), .x_ld = part.cols(), .rows = nullptr,
                               .y = {y.data() + begin, false}, .y_ld = cols,
                               .cols = int(part.cols())});
    begin += part.cols();
  }
  std::vector<int64_t> widths;
  for (const Tensor& part : parts) widths.push_back(part.cols());
  return record("concatenate_columns", y, parts, [widths, rows, cols](const Tensor& dy, Grads& g) {
    const real* first = dy.data();
    for (size_t i = 0; i < widths.size(); first += widths[i], ++i)
      g(int(i), [&](Sink dx) {
        launch_rows(dy.device(), rows, dx.tensor.size(),
                    CopyRows{.x = first, .x_ld = cols, .rows = nullptr, .y = dx, .y_ld = widths[i],
                             .cols = int(widths[i])});
      });
  });
}

Tensor slice_columns(const Tensor& x, int64_t begin, int64_t end) {
  MB_CHECK(0 <= begin && begin < end && end <= x.cols(), "slice_columns: columns {} to {} of {}",
           begin, end, x.shape());
  const int64_t rows = x.rows(), cols = x.cols(), width = end - begin;
  Tensor y({rows, width}, x.device());
  launch_rows(y, CopyRows{.x = x.data() + begin, .x_ld = cols, .rows = nullptr, .y = y,
                          .y_ld = width, .cols = int(width)});
  return record("slice_columns", y, {x}, [cols, width, begin](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      dx.zero_unless_add();
      launch_rows(dy, CopyRows{.x = dy.data(), .x_ld = width, .rows = nullptr,
                               .y = {dx.tensor.data() + begin, true}, .y_ld = cols,
                               .cols = int(width)});
    });
  });
}

}  // namespace minbert
