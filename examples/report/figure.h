// Figures: a grid of panels with curves, points and bars, or a heat map; their numbers as a CSV file
// and their picture as an SVG.
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

struct Curve {
  enum class Style { line, line_and_points, points, bars };
  // In the legend, which a panel with one curve does not have
  std::string title;
  std::vector<double> x = {}, y = {};              // [N]; where y is not finite the line has a gap
  // [N], or none: a band from y - deviation to y + deviation; an error bar on bars
  std::vector<double> deviation = {};
  Style style = Style::line;                       // bars of several curves stand side by side
};

// Counts the values in bins of equal width between min and max, or on a logarithmic axis in bins of
// equal ratio; NAN stands for the least and the greatest value. Returns bars around the bins'
// centers. The first and the last bin also count what lies outside; values that are not finite
// are not counted. With `log`, values of 0 and less are counted apart, in a bar at x = 0: a panel
// with log_x cannot draw it, and says its count below the axis. Errors: bins below 1, min not below
// max, min not above 0 with `log`.
Curve histogram(const std::string& title, const std::vector<double>& values, int bins,
                bool log = false, double min = NAN, double max = NAN);

using Matrix = std::vector<std::vector<double>>;

// The colors of a matrix: from white to dark blue, or diverging: orange, white at 0, blue. A value
// that is not finite is a gray gap.
struct HeatMap {
  Matrix values = {};                              // [rows, columns]; the first row is on top
  double min = NAN, max = NAN;                     // ends of the color scale; NAN: of the values
  bool diverging = false;
};

struct Panel {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;               // such an axis omits values of 0 and less
  std::vector<Curve> curves = {};
  HeatMap heat = {};                               // where it has values, it stands alone
  // Ticks: x_names[i] stands at x = i, which is column i of a heat map; without names, numbers do
  std::vector<std::string> x_names = {}, y_names = {};
};

struct Figure {
  std::string title;                               // above all panels; may be empty
  int columns = 1;                                 // panels fill the grid row by row
  std::vector<Panel> panels = {};
  bool shared_y = false;                           // curves of all panels have the same y axis
};

// Writes STEM.csv with the columns panel, curve, x, y, deviation, and STEM.svg; makes their folder.
// Where all panels are heat maps the columns are panel, row, column, value; beside curves, a row
// of a heat map is written as a curve. Titles may hold any character. Errors: a panel with both
// curves and a heat map, a curve whose lists differ in length, a heat map whose rows do, a file that
// cannot be written.
void write_figure(const std::string& stem, const Figure& figure);

// The picture alone.
std::string figure_svg(const Figure& figure);

// What is drawn and written of a heat map: a side of more than 128 is cut into blocks of
// heat_block(side) values, and each block is replaced by the mean of its finite values. Error for
// rows that differ in length.
Matrix heat_image(const Panel& panel);
size_t heat_block(size_t side);

}  // namespace minbert
