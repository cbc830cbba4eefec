// Reading a run's tables.
#include "report/curves.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "minbert/error.h"
#include "minbert/metrics.h"
#include "report/long_table.h"
#include "tasks/tsv.h"

namespace minbert {

CsvTable::CsvTable(const std::string& file) : file_(file) {
  TsvReader reader(file, {.separator = ','});
  const Names& names = reader.columns();
  for (const std::string& name : names) columns_[name];
  for (TsvRow row; reader.next(row); ++rows_) {
    MB_CHECK(row.fields.size() == names.size(),
             "{}:{}: {} fields, but the first line names {}; the file is damaged", file, row.line,
             row.fields.size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) columns_[names[i]].push_back(row.fields[i]);
  }
}

const Names& CsvTable::texts(const std::string& column) const {
  const auto found = columns_.find(column);
  MB_CHECK(found != columns_.end(),
           "{}:1: there is no column {}; the file is damaged, or another program's", file_, column);
  return found->second;
}

Numbers CsvTable::numbers(const std::string& column) const {
  Numbers values;
  for (const std::string& text : texts(column)) {
    double value = NAN;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    MB_CHECK(text == "undefined" || (error == std::errc() && end == text.data() + text.size()),
             "{}:{}: \"{}\" in column {} is not a number; the file is damaged", file_,
             values.size() + 2, text, column);
    values.push_back(value);
  }
  return values;
}

Series smoothed(const Series& all, size_t points) {
  constexpr size_t most_points = 50;
  const size_t N = all.x.size(), window = std::max<size_t>(1, (points + most_points - 1) / most_points);
  Numbers rests;
  for (size_t i = 1; i < N; ++i) rests.push_back(all.x[i] - all.x[i - 1]);
  const double longest = 20 * (rests.empty() ? 1 : std::max(1.0, median(rests)));       // 0: batches of one step
  Series means;
  for (size_t first = 0, end = 0; first < N; first = end) {        // from rest to rest
    for (end = first + 1; end < N && rests[end - 1] <= longest;) ++end;
    if (first > 0) means.add(NAN, NAN);
    const size_t count = end - first, windows = (count + window - 1) / window;
    for (size_t w = 0; w < windows; ++w) {          // all as long as each other, but for one point
      const size_t from = first + w * count / windows, to = first + (w + 1) * count / windows;
      double x = 0, y = 0;
      for (size_t i = from; i < to; ++i) {
        x += all.x[i];
        y += all.y[i];
      }
      means.add(x / double(to - from), y / double(to - from));
    }
  }
  return means;
}

Series losses_of(const std::string& folder, const std::string& task) {
  const CsvTable table(folder + "/steps.csv");
  const Numbers steps = table.numbers("step"), all = table.numbers("loss");
  Series own;
  for (size_t i = 0; i < table.rows(); ++i)
    if (table.texts("task")[i] == task) own.add(steps[i], all[i]);
  return own;
}

Curve mean_of(const std::string& title, const std::vector<Series>& runs) {
  Curve curve{.title = title};
  size_t longest = 0;
  for (const Series& run : runs) longest = std::max(longest, run.x.size());
  for (size_t i = 0; i < longest; ++i) {
    Numbers x, y;
    for (const Series& run : runs) {
      if (i >= run.x.size()) continue;
      x.push_back(run.x[i]);
      if (std::isfinite(run.y[i])) y.push_back(run.y[i]);
    }
    const Summary summary = y.empty() ? Summary{NAN, 0} : summarize(y);
    curve.x.push_back(summarize(x).mean);
    curve.y.push_back(summary.mean);
    if (runs.size() > 1) curve.deviation.push_back(summary.deviation);
  }
  return curve;
}

Curve loss_curve(const std::string& title, const Names& folders, const std::string& task) {
  std::vector<Series> runs;
  // of the longest run: --patience may have ended others earlier
  size_t batches = 0;
  for (const std::string& folder : folders) {
    runs.push_back(losses_of(folder, task));
    batches = std::max(batches, runs.back().x.size());
  }
  for (Series& run : runs) run = smoothed(run, batches);
  return mean_of(title, runs);
}

}  // namespace minbert
