// Figures: histograms, averaged heat maps, the CSV file.
#include "report/figure.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <sstream>

#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert {
namespace {

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string csv(const Figure& figure) {
  std::ostringstream out;
  const bool heat_only = !figure.panels.empty() && std::ranges::all_of(figure.panels, [](const Panel& panel) {
    return !panel.heat.values.empty();
  });
  out << std::setprecision(9) << (heat_only ? "panel,row,column,value\n" : "panel,curve,x,y,deviation\n");
  const auto place = [&](const std::vector<std::string>& names, double x) {
    const bool named = x >= 0 && x < double(names.size()) && x == std::floor(x);
    if (named) out << csv_field(names[size_t(x)]) << ',';
    else out << x << ',';
  };
  const auto value = [&](double y) {
    if (std::isfinite(y)) out << y;
  };
  for (const Panel& panel : figure.panels) {
    for (const Curve& curve : panel.curves)
      for (size_t i = 0; i < curve.x.size(); ++i) {
        out << csv_field(panel.title) << ',' << csv_field(curve.title) << ',';
        place(panel.x_names, curve.x[i]);
        value(curve.y[i]);
        out << ',';
        if (!curve.deviation.empty()) out << curve.deviation[i];
        out << '\n';
      }
    const Matrix& all = panel.heat.values;
    const Matrix image = heat_image(panel);
    for (size_t i = 0; i < image.size(); ++i)
      for (size_t j = 0; j < image[i].size(); ++j) {
        out << csv_field(panel.title) << ',';
        place(panel.y_names, double(i * heat_block(all.size())));
        place(panel.x_names, double(j * heat_block(all[0].size())));
        value(image[i][j]);
        out << (heat_only ? "\n" : ",\n");
      }
  }
  return out.str();
}

}  // namespace

Curve histogram(const std::string& title, const std::vector<double>& values, int bins, bool log, double min,
                double max) {
  MB_CHECK(bins > 0 && !(min >= max) && !(log && min <= 0), "histogram \"{}\": {} bins from {} to {}", title, bins, min,
           max);
  const auto drawn = [&](double v) { return std::isfinite(v) && (!log || v > 0); };
  const auto on_axis = [&](double v) { return log ? std::log10(v) : v; };
  double low = INFINITY, high = -INFINITY, zeros = 0;
  for (const double v : values)
    if (drawn(v)) {
      low = std::min(low, v);
      high = std::max(high, v);
    } else {
      zeros += std::isfinite(v);
    }
  low = on_axis(std::isnan(min) ? low : min);
  high = on_axis(std::isnan(max) ? high : max);
  if (std::isfinite(low) && low >= high) {
    low -= 0.5;
    high = low + 1;
  }
  Curve curve{.title = title, .style = Curve::Style::bars};
  const double width = (high - low) / bins;
  for (int i = 0; i < bins && low < high; ++i)     // without values, low is above high
    curve.x.push_back(log ? std::pow(10, low + (i + 0.5) * width) : low + (i + 0.5) * width);
  curve.y.resize(curve.x.size());
  for (const double v : values)
    if (drawn(v) && !curve.y.empty()) ++curve.y[size_t(std::clamp((on_axis(v) - low) / width, 0.0, bins - 1.0))];
  if (zeros > 0) {
    curve.x.insert(curve.x.begin(), 0);
    curve.y.insert(curve.y.begin(), zeros);
  }
  return curve;
}

size_t heat_block(size_t side) { return (side + 127) / 128; }

Matrix heat_image(const Panel& panel) {
  const Matrix& all = panel.heat.values;
  const size_t rows = all.size(), columns = all.empty() ? 0 : all[0].size();
  for (size_t i = 0; i < rows; ++i)
    MB_CHECK(all[i].size() == columns, "figure: in the heat map of panel \"{}\", row {} has {} values and row 0 has {}",
             panel.title, i, all[i].size(), columns);
  const size_t down = heat_block(rows), across = heat_block(columns);
  Matrix image;
  for (size_t i = 0; i < rows; i += down) {
    image.emplace_back();
    for (size_t j = 0; j < columns; j += across) {
      double sum = 0, count = 0;
      for (size_t k = i; k < std::min(i + down, rows); ++k)
        for (size_t l = j; l < std::min(j + across, columns); ++l)
          if (std::isfinite(all[k][l])) {
            sum += all[k][l];
            ++count;
          }
      image.back().push_back(sum / count);         // NAN where no value is finite
    }
  }
  return image;
}

void write_figure(const std::string& stem, const Figure& figure) {
  for (const Panel& panel : figure.panels) {
    MB_CHECK(panel.curves.empty() || panel.heat.values.empty(), "figure {}: panel \"{}\" has curves and a heat map",
             stem, panel.title);
    for (const Curve& c : panel.curves)
      MB_CHECK(c.x.size() == c.y.size() && (c.deviation.empty() || c.deviation.size() == c.x.size()),
               "figure {}: curve \"{}\" of panel \"{}\" has {} values of x, {} of y and {} deviations", stem, c.title,
               panel.title, c.x.size(), c.y.size(), c.deviation.size());
  }
  const std::string numbers = csv(figure);
  if (const auto folder = std::filesystem::path(stem).parent_path(); !folder.empty()) make_folder(folder.string());
  write_file(stem + ".csv", numbers);
  write_file(stem + ".svg", figure_svg(figure));
}

}  // namespace minbert
