// Choosing rows, joining columns, and transposing.
#include <algorithm>

#include "engine/fill.h"
#include "engine/launch.h"
#include "minbert/ops.h"
#include "ops/copy_row.h"

namespace minbert {
namespace {

// The rows of dy that were gathered from each row of x: order[begin[k]] .. order[begin[k+1] - 1],
// rising, come from row ids[k].
struct RowsById {
  Indices ids, begin, order;
};
RowsById rows_by_id(const Indices& rows, int64_t all_ids) {
  std::vector<int32_t> ids, begin, order(size_t(rows.size()));
  std::vector<int32_t> place(size_t(all_ids) + 1);  // where the next row of each id goes
  for (const int32_t id : rows) ++place[size_t(id) + 1];
  for (size_t id = 0; id < size_t(all_ids); ++id) {
    if (place[id + 1] > 0) {
      ids.push_back(int32_t(id));
      begin.push_back(place[id]);
    }
    place[id + 1] += place[id];
  }
  begin.push_back(int32_t(order.size()));
  for (int32_t r = 0; r < int32_t(order.size()); ++r) order[size_t(place[size_t(rows[r])]++)] = r;
  return {std::move(ids), std::move(begin), std::move(order)};
}

// dx[id] += the sum of its rows of dy, in their order. Only row k of the program writes there.
struct AddById {
  const int32_t *begin, *order;
  RowView dy;
  template <class Team>
  HD void operator()(Team team, int n, int64_t k, real* dx_of_id) const {
    for (int r = begin[k]; r < begin[k + 1]; ++r) {
      const real* dy_of_row = dy[order[r]];
      team.each(n, [=](int i) { dx_of_id[i] += dy_of_row[i]; });
    }
  }
};

// Few ids with many rows each, such as segments, are summed by launch_column_sums.
void scatter(const Tensor& dy, const Indices& rows, const Sink& dx) {
  if (dx.tensor.rows() <= 8) return add_rows(dy, dx, rows);
  if (!dx.add) fill(dx.tensor, 0);
  const RowsById by = rows_by_id(rows, dx.tensor.rows());
  const Device device = dy.device();
  const AddById add{by.begin.data(device), by.order.data(device), {dy.data(), dy.cols()}};
  const auto program = on_rows(add, dy, RowNumber{}, Grouped{dx.tensor, by.ids});
  launch_rows(device, by.ids.size(), dy.size(), program);
}

Tensor gather(const char* name, const Tensor& x, const Indices& rows) {
  for (const int32_t r : rows)
    MB_CHECK(r >= 0 && r < x.rows(), "{}: index {} is outside of 0..{}", name, r, x.rows() - 1);
  const Tensor y({rows.size(), x.cols()}, x.device());
  launch_rows(y, CopyRow{}, Grouped{x, rows}, Sink{y, false});
  return record(name, y, {x}, [rows](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) { scatter(dy, rows, dx); });
  });
}

struct CopyColumn {                                 // of a matrix with so many columns
  int64_t cols;
  template <class Team>
  HD void operator()(Team team, int n, const real* x, Target y) const {
    const int64_t step = cols;
    team.each(n, [=](int i) { y(i, x[i * step]); });
  }
};
void transpose_into(const Tensor& x, const Sink& y) {         // y's row r is column r of x
  launch_rows(y.tensor, CopyColumn{x.cols()}, RowView{x.data(), 1}, y);
}

}  // namespace

Tensor transpose(const Tensor& x) {
  const Tensor y({x.cols(), x.rows()}, x.device());
  transpose_into(x, {y, false});
  return record("transpose", y, {x}, [](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) { transpose_into(dy, dx); });
  });
}

Tensor slice_rows(const Tensor& x, int64_t begin, int64_t end) {
  MB_CHECK(0 <= begin && begin <= end && end <= x.rows(), "slice_rows: {}..{} of {} rows", begin,
           end, x.rows());
  return gather("slice_rows", x, Indices::range(begin, end));
}

Tensor Tensor::operator[](int64_t i) const {
  const Shape& s = shape();
  MB_CHECK(s.rank() > 0, "x[{}]: x is a single value", i);
  MB_CHECK(i >= 0 && i < s[0], "x[{}]: x is {}", i, s);
  const Tensor row = gather("x[i]", reshape({s[0], s[0] ? s.size() / s[0] : 0}), {int32_t(i)});
  return row.reshape(s.without_first());
}

Indices argmax(const Tensor& x) {
  std::vector<real> copy;
  const std::span<const real> values = x.on_host(copy);
  std::vector<int32_t> columns;
  for (int64_t r = 0; r < x.rows(); ++r) {
    const auto row = values.subspan(size_t(r * x.cols()), size_t(x.cols()));
    columns.push_back(int32_t(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return columns;
}

Tensor index_select(const Tensor& x, const Indices& rows) {
  return gather("index_select", x, rows);
}
Tensor embedding(const Tensor& table, const Indices& ids) {
  return gather("embedding", table, ids);
}

Tensor cat(const std::vector<Tensor>& parts) {
  MB_CHECK(!parts.empty(), "cat: nothing to join");
  const int64_t rows = parts[0].rows();
  int64_t cols = 0;
  std::vector<int64_t> begins;                      // each part's first column of y
  for (const Tensor& part : parts) {
    MB_CHECK(part.rows() == rows, "cat: {} beside {}", part.shape(),
             parts[0].shape());
    begins.push_back(cols);
    cols += part.cols();
  }
  const Tensor y({rows, cols}, parts[0].device());
  for (size_t i = 0; i < parts.size(); ++i)
    launch_rows(parts[i], CopyRow{}, parts[i], TargetView{{y.data() + begins[i], false}, cols});
  return record("cat", y, parts, [begins, cols](const Tensor& dy, Grads& g) {
    for (size_t i = 0; i < begins.size(); ++i)
      g(int(i), [&](Sink dx) {
        launch_rows(dx.tensor, CopyRow{}, RowView{dy.data() + begins[i], cols}, dx);
      });
  });
}

}  // namespace minbert
