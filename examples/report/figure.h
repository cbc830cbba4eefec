// Figures: a grid of panels with curves, points and bars, or a heat map; their numbers as a CSV
// file and their picture as an SVG.
//
//   Panel panel{.title = "SST", .x_label = "step", .y_label = "training loss"};
//   panel.curves.push_back({.title = "layer", .x = steps, .y = losses});
//   const Figure figure{.title = "Learning", .columns = 1, .panels = {panel}};
//   write_figure("runs/first/figures/learning", figure);     // learning.csv and learning.svg
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace minbert {

using Names = std::vector<std::string>;
using Numbers = std::vector<double>;
using Matrix = std::vector<Numbers>;

struct Curve {
  enum class Style { line, line_and_points, points, bars };
  // In the legend, which a panel with one curve does not have
  std::string title;
  Numbers x = {}, y = {};              // [N]; where one is not finite the line has a gap
  // [N], or none: y - deviation to y + deviation is a band along a line, an error bar on points and bars
  Numbers deviation = {};
  Style style = Style::line;                       // bars of several curves stand side by side
};

// Counts the values in bins of equal ratio from the least to the greatest, as bars around the bins'
// centers on a logarithmic axis. Values that are not finite, or 0 and less, are not counted. all:
// values of several histograms, which get the same bins.
Curve log_histogram(const Numbers& values, int bins, const Numbers& all = {});

// The colors of a matrix: from white to dark blue. A value that is not finite is a gray gap. A side
// of more than 128 is cut into blocks, and each block is drawn as the mean of its finite values.
struct HeatMap {
  Matrix values = {};                              // [rows, columns]; the first row is on top
  double min = NAN, max = NAN;                     // ends of the color scale; NAN: of the values
  bool color_bar = true;
  Numbers borders = {};                            // a line above each of these rows
};

struct Panel {
  std::string title = {}, x_label = {}, y_label = {};
  bool log_x = false, log_y = false;               // such an axis omits values of 0 and less
  std::vector<Curve> curves = {};
  HeatMap heat = {};                               // where it has values, it stands alone
  // Ticks: x_names[i] stands at x = i, which is column i of a heat map; without names, numbers do
  Names x_names = {}, y_names = {};
};

struct Figure {
  std::string title = {};                          // above all panels
  int columns = 1;                                 // panels fill the grid row by row
  std::vector<Panel> panels = {};
  // Panels with the same label there have the same axis, heat maps the same colors
  bool shared_x = false, shared_y = false, shared_colors = false;
};

// The picture. Heat maps that all have the same colors have one color bar a row. Titles may hold any
// character. Errors: a panel with both curves and a heat map, a curve whose lists differ in length, a
// heat map whose rows do.
std::string figure_svg(const Figure& figure);

// As a field of a table: quotes around one with a separator, a line end or a quote.
std::string csv_field(const std::string& text, char separator = ',');
// Writes STEM.svg, and STEM.csv with the curves: panel, curve, x, y, deviation; makes their folder.
void write_figure(const std::string& stem, const Figure& figure);

}  // namespace minbert
