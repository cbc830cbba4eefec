// The machinery of launch_rows and launch_column_sums (launch.h): what a kernel on rows receives of
// each array.
//
// A view is anything with an operator[](row). A kernel's own views are passed on as they are.
#pragma once

#include <tuple>

#include "minbert/autograd.h"
#include "minbert/random.h"

namespace minbert {

// The array that a kernel writes: its results replace the elements (a new tensor), or are added to
// them (a gradient with earlier contributions, see Sink).
struct Target {
  real* data;
  bool add;
  HD Target(real* array, bool adds) : data(array), add(adds) {}
  Target(const Tensor& t) : data(t.data()), add(false) {}
  Target(const Sink& gradient) : data(gradient.tensor.data()), add(gradient.add) {}
  HD void operator()(int64_t i, real v) const { data[i] = add ? data[i] + v : v; }
};

struct RowView {                          // a pointer to the row's first element; nullptr: no array
  real* data;
  int64_t step;                             // elements from one row to the next; 0: one row for all
  HD real* operator[](int64_t row) const { return data + row * step; }
};
struct TargetView {
  Target target;
  int64_t step;
  HD Target operator[](int64_t row) const { return {target.data + row * step, target.add}; }
};
struct IndexView {                                  // the row's index; without indices 0
  const int32_t* data;
  HD int32_t operator[](int64_t row) const { return data ? data[row] : 0; }
};
struct GroupView {
  real* data;
  int64_t cols;
  IndexView group;
  HD real* operator[](int64_t row) const { return data ? data + group[row] * cols : nullptr; }
};
struct Grouped {                        // of row r: row group[r] of the tensor; no group: its row 0
  const Tensor& tensor;
  const Indices& group;
};
struct RowNumber {                                  // the row's own number
  HD int64_t operator[](int64_t row) const { return row; }
};

// The rows of a launch: those of a tensor, or as many of as many columns.
struct Grid {
  Device device;
  int64_t rows, cols;
  Grid(Device where, int64_t row_count, int64_t col_count)
      : device(where), rows(row_count), cols(col_count) {}
  Grid(const Tensor& t) : Grid(t.device(), t.rows(), t.cols()) {}
};

inline RowView view_of(const Tensor& t, const Grid&) {
  return {t ? t.data() : nullptr, t && t.rows() > 1 ? t.cols() : 0};
}
inline TargetView view_of(const Sink& s, const Grid& grid) {
  return {s, view_of(s.tensor, grid).step};
}
inline IndexView view_of(const Indices& list, const Grid& grid) { return {list.data(grid.device)}; }
inline GroupView view_of(const Grouped& g, const Grid& grid) {
  return {g.tensor ? g.tensor.data() : nullptr, grid.cols, {g.group.data(grid.device)}};
}
template <class View>
View view_of(const View& view, const Grid&) {
  return view;
}

// A kernel with its arrays: f(team, cols, x[row], y[row], ...) for a row, f(col, x[row], y[row],
// ...) for an element.
template <class F, class... Views>
struct OnRows {
  F f;
  int cols;
  std::tuple<Views...> views;
  template <class Team>
  HD void operator()(Team team, int64_t row) const {
    std::apply([&](const Views&... view) { f(team, cols, view[row]...); }, views);
  }
  HD real operator()(int64_t row, int64_t col) const {
    return std::apply([&](const Views&... view) { return f(col, view[row]...); }, views);
  }
};
template <class F, class... Arrays>
auto on_rows(const F& f, const Grid& grid, const Arrays&... arrays) {
  return OnRows<F, decltype(view_of(arrays, grid))...>{
      f, int(grid.cols), {view_of(arrays, grid)...}};
}

}  // namespace minbert
