// Figures: histograms, the CSV file.
#include "report/figure.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <sstream>

#include "minbert/files.h"

namespace minbert {
namespace {

std::string csv(const Figure& figure) {
  std::ostringstream out;
  out << std::setprecision(9) << "panel,curve,x,y,deviation\n";
  for (const Panel& panel : figure.panels)
    for (const Curve& curve : panel.curves)
      for (size_t i = 0; i < curve.x.size(); ++i) {
        if (std::isnan(curve.x[i])) continue;
        out << csv_field(panel.title) << ',' << csv_field(curve.title) << ',' << curve.x[i] << ',';
        if (std::isfinite(curve.y[i])) out << curve.y[i];
        out << ',';
        if (!curve.deviation.empty()) out << curve.deviation[i];
        out << '\n';
      }
  return out.str();
}

}  // namespace

Curve log_histogram(const Numbers& values, int bins, const Numbers& all) {
  const auto drawn = [](double v) { return std::isfinite(v) && v > 0; };
  double low = INFINITY, high = -INFINITY;
  for (const double v : all.empty() ? values : all)
    if (drawn(v)) {
      low = std::min(low, std::log10(v));
      high = std::max(high, std::log10(v));
    }
  if (low == high) {
    low -= 0.5;
    high = low + 1;
  }
  Curve curve{.title = "", .style = Curve::Style::bars};
  const double width = (high - low) / bins;
  for (int i = 0; i < bins && low < high; ++i)    // without values, low is above high
    curve.x.push_back(std::pow(10, low + (i + 0.5) * width));
  curve.y.resize(curve.x.size());
  for (const double v : values)
    if (drawn(v)) ++curve.y[size_t(std::min((std::log10(v) - low) / width, bins - 1.0))];
  return curve;
}

std::string csv_field(const std::string& text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

void write_figure(const std::string& stem, const Figure& figure) {
  const std::string picture = figure_svg(figure);
  if (const auto folder = std::filesystem::path(stem).parent_path(); !folder.empty())
    make_folder(folder.string());
  write_file(stem + ".csv", csv(figure));
  write_file(stem + ".svg", picture);
}

}  // namespace minbert
