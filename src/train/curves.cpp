// Reading a run's tables.
#include "curves.h"

#include <algorithm>
#include <sstream>

#include "minbert/files.h"

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
    for (size_t i = begin; i < end; ++i) x += all.x[i], y += all.y[i];
    means.x.push_back(x / double(end - begin)), means.y.push_back(y / double(end - begin));
  }
  return means;
}

}  // namespace minbert
