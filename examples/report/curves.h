// A run's tables as curves.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/figure.h"

namespace minbert {

struct Series {
  Numbers x, y;
  void add(double at, double value) { x.push_back(at), y.push_back(value); }
};

// The columns of a run's CSV file, by name. Errors name the file, and the line of a damaged row.
class CsvTable {
 public:
  explicit CsvTable(const std::string& file);
  size_t rows() const { return rows_; }
  bool has(const std::string& column) const { return columns_.contains(column); }
  const Names& texts(const std::string& column) const;
  Numbers numbers(const std::string& column) const;     // a score that is undefined: NaN

 private:
  std::string file_;
  std::map<std::string, Names> columns_;
  size_t rows_ = 0;
};

// Means over windows of neighbors, so that a curve of so many points in all becomes one of 50. A rest much longer than
// most is a gap, a point whose x and y are NaN; no window reaches over it.
Series smoothed(const Series& series, size_t points);

// The losses of a task, from FOLDER/steps.csv: x the optimizer step, y the loss of a batch.
Series losses_of(const std::string& folder, const std::string& task);
// At each point the mean over the runs that got so far and have a value there, and of several runs
// the deviation.
Curve mean_of(const std::string& title, const std::vector<Series>& runs);
// The mean over the runs in these folders of a task's losses, smoothed.
Curve loss_curve(const std::string& title, const Names& folders, const std::string& task);

}  // namespace minbert
