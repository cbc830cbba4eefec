// A run's tables as curves.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "minbert/figure.h"

namespace minbert {

struct Series {
  std::vector<double> x, y;
};

// The columns of a CSV file, by name.
std::map<std::string, std::vector<std::string>> read_columns(const std::string& file);

// Means over windows of neighbors, so that a curve of so many points in all becomes one of 50.
Series smoothed(const Series& series, size_t points);

}  // namespace minbert
