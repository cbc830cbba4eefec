// Choosing rows and columns, joining columns, and laying a batch end to end.
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

// dx[rows[r]] += dy[r]: the columns are shared out, so that no two threads meet and every sum runs in row order.
struct ScatterRows {
  const real* dy;
  const int32_t* rows;
  int64_t count, cols;
  real* dx;
  template <class Team>
  HD void operator()(Team team, int64_t block) const {
    const int64_t begin = block * width, n = count, h = cols;
    const int wide = int(h - begin < width ? h - begin : width);
    for (int64_t r = 0; r < n; ++r) {
      const real* from = dy + r * h + begin;
      real* to = dx + rows[r] * h + begin;
      team.each(wide, [=](int i) { to[i] += from[i]; });
    }
  }
  static constexpr int64_t width = 64;
};

Tensor gather(const char* name, const Tensor& x, const Indices& rows) {
  const int64_t count = rows.size(), cols = x.cols();
  for (const int32_t r : rows)
    MB_CHECK(r >= 0 && r < x.rows(), "{}: index {} is outside of 0..{}", name, r, x.rows() - 1);
  Tensor y({count, cols}, x.device());
  launch_rows(x.device(), count, y.size(),
              CopyRows{x.data(), cols, rows.data(), {y.data(), false}, cols, int(cols)});
  return record(name, y, {x}, [rows, count, cols](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      dx.zero_unless_add();
      const int64_t blocks = (cols + ScatterRows::width - 1) / ScatterRows::width;
      launch_rows(dy.device(), blocks, dy.size(), ScatterRows{dy.data(), rows.data(), count, cols, dx.to.data()});
    });
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
        launch_rows(dy.device(), rows, dx.to.size(),
                    CopyRows{from, cols, nullptr, {dx.to.data(), dx.add}, widths[i], int(widths[i])});
      });
  });
}

Tensor slice_columns(const Tensor& x, int64_t begin, int64_t end) {
  MB_CHECK(0 <= begin && begin < end && end <= x.cols(), "slice_columns: columns {} to {} of {}", begin, end,
           x.shape());
  const int64_t rows = x.rows(), cols = x.cols(), width = end - begin;
  Tensor y({rows, width}, x.device());
  launch_rows(x.device(), rows, y.size(),
              CopyRows{x.data() + begin, cols, nullptr, {y.data(), false}, width, int(width)});
  return record("slice_columns", y, {x}, [rows, cols, width, begin](const Tensor& dy, Grads& g) {
    g(0, [&](Sink dx) {
      dx.zero_unless_add();
      launch_rows(dy.device(), rows, dy.size(),
                  CopyRows{dy.data(), width, nullptr, {dx.to.data() + begin, true}, cols, int(width)});
    });
  });
}

Batch pack(std::span<const Sequence> sequences, Indices task) {
  MB_CHECK(!sequences.empty(), "pack: a batch needs at least one sequence");
  std::vector<int32_t> ids, segments, positions, offsets = {0}, sentence;
  for (const Sequence& s : sequences) {
    const int32_t b = int32_t(offsets.size()) - 1;
    MB_CHECK(!s.ids.empty(), "pack: sequence {} of the batch is empty", b);
    MB_CHECK(s.segments.size() == s.ids.size(), "pack: sequence {} has {} ids but {} segments", b, s.ids.size(),
             s.segments.size());
    ids.insert(ids.end(), s.ids.begin(), s.ids.end());
    segments.insert(segments.end(), s.segments.begin(), s.segments.end());
    for (size_t i = 0; i < s.ids.size(); ++i) positions.push_back(int32_t(i)), sentence.push_back(b);
    offsets.push_back(int32_t(ids.size()));
  }
  const size_t count = sequences.size();
  if (task.size() == 1) task = Indices(std::vector<int32_t>(count, task[0]));
  MB_CHECK(!task || task.size() == int64_t(count), "pack: {} task ids for {} sequences", task.size(), count);
  std::vector<int32_t> row_task;
  for (size_t row = 0; task && row < sentence.size(); ++row) row_task.push_back(task[sentence[row]]);
  return {std::move(ids), std::move(segments), std::move(positions), std::move(offsets), std::move(sentence),
          task, task ? Indices(std::move(row_task)) : Indices()};
}

Batch at_rows(const Batch& batch, const Indices& rows) {
  const auto at = [&](const Indices& of) {
    std::vector<int32_t> picked;
    for (const int32_t row : rows)
      if (of) picked.push_back(of[row]);
    return of ? Indices(std::move(picked)) : Indices();
  };
  return {at(batch.ids), at(batch.segments), at(batch.positions), {}, at(batch.sentence), {}, at(batch.row_task)};
}

}  // namespace minbert
