// Reading a run's tables.
#include "curves.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "minbert/files.h"
#include "minbert/metrics.h"

namespace minbert {

std::map<std::string, std::vector<std::string>> read_columns(const std::string& file) {
  std::istringstream in(read_file(file));
  std::map<std::string, std::vector<std::string>> columns;
  std::vector<std::string> names;
  for (std::string line, field; std::getline(in, line);) {
    std::istringstream fields(line);
    const bool header = names.empty();
    for (size_t i = 0; std::getline(fields, field, ','); ++i)
      if (header) names.push_back(field);
      else columns[names.at(i)].push_back(field);
  }
  return columns;
}

Series smoothed(const Series& all, size_t points) {
  constexpr size_t most_points = 50;
  const size_t window = (points + most_points - 1) / most_points, count = all.x.size();
  const size_t windows = window ? (count + window - 1) / window : 0;
  Series means;
  for (size_t w = 0; w < windows; ++w) {            // all as long as each other, but for one point
    const size_t begin = w * count / windows, end = (w + 1) * count / windows;
    double x = 0, y = 0;
    for (size_t i = begin; i < end; ++i) {
      x += all.x[i];
      y += all.y[i];
    }
    means.x.push_back(x / double(end - begin));
    means.y.push_back(y / double(end - begin));
  }
  return means;
}

Series losses_of(const std::string& folder, const std::string& task) {
  const auto table = read_columns(folder + "/steps.csv");
  Series losses;
  for (size_t i = 0; i < table.at("task").size(); ++i) {
    if (table.at("task")[i] != task) continue;
    losses.x.push_back(std::stod(table.at("step")[i]));
    losses.y.push_back(std::stod(table.at("loss")[i]));
  }
  return losses;
}

Curve mean_of(const std::string& title, const std::vector<Series>& runs) {
  Curve curve{.title = title};
  size_t longest = 0;
  for (const Series& run : runs) longest = std::max(longest, run.x.size());
  for (size_t i = 0; i < longest; ++i) {
    std::vector<double> x, y;
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

Curve loss_curve(const std::string& title, const std::vector<std::string>& folders, const std::string& task) {
  std::vector<Series> runs;
  size_t batches = 0;                               // of the longest run: --patience may have ended others earlier
  for (const std::string& folder : folders) {
    runs.push_back(losses_of(folder, task));
    batches = std::max(batches, runs.back().x.size());
  }
  for (Series& run : runs) run = smoothed(run, batches);
  return mean_of(title, runs);
}

}  // namespace minbert
