// Figures: a grid of panels with curves. The numbers are always written, as a CSV file; gnuplot,
// where it is installed, draws them as an SVG.
//
//   Panel panel{.title = "SST", .x_label = "step", .y_label = "training loss"};
//   panel.curves.push_back({.title = "layer", .x = steps, .y = losses});
//   const Figure figure{.title = "Learning", .columns = 1, .panels = {panel}};
//   write_figure("runs/first/figures/learning", figure);     // learning.csv and learning.svg
#pragma once

#include <string>
#include <vector>

namespace minbert {

struct Curve {
  enum class Style { line, line_and_points, points };
  // In the legend, which a panel with one curve does not have
  std::string title;
  std::vector<double> x = {}, y = {};              // [N]; where y is not finite the line has a gap
  // [N], or none: a band from y - deviation to y + deviation
  std::vector<double> deviation = {};
  Style style = Style::line;
};

struct Panel {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;               // what is not positive is not drawn there
  std::vector<Curve> curves = {};
};

struct Figure {
  std::string title;                               // above all panels; may be empty
  int columns = 1;                                 // panels fill the grid row by row
  std::vector<Panel> panels = {};
};

// Writes STEM.csv with the columns panel, curve, x, y, deviation, and STEM.svg; makes their folder.
// Where gnuplot is missing or fails, a message says so, once, and there is no STEM.svg. Titles may
// hold any character.
void write_figure(const std::string& stem, const Figure& figure);

// The script that draws it, for gnuplot 5.0 and later; the picture goes to standard output.
std::string gnuplot_script(const Figure& figure);

}  // namespace minbert
