// The script that draws a figure: every place is computed here, in pixels, so that the panels stand in line whatever
// their tick marks say.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "report/gnuplot_look.h"

namespace minbert {
namespace {

using Style = Curve::Style;

constexpr double panel_width = 420, panel_height = 270;        // with labels and margins
constexpr double above = 36, title_height = 36, legend_line = 24, color_bar = 94;

class Script {
 public:
  explicit Script(const Figure& figure);
  std::string text() const { return out_.str(); }

 private:
  void place(double x, double y, double width, double height);   // of the axes, in pixels from the top left
  void label(const std::string& text, double x, double y, double room, int size, const char* direction = "");
  void ticks(char axis, const std::vector<std::string>& names, const std::string& steps, double room);
  void panel(const Panel& panel, int row, int column);
  void curves(const Panel& panel);
  void heat(const Panel& panel, double x, double y, double height);
  void no_values();
  void share_y(const std::vector<Panel>& panels);
  bool turned(const std::vector<std::string>& names) { return width_of(names) * double(names.size()) > plot_width_; }
  std::string x_of(double pixels) const { return formatted("{}", pixels / width_); }
  std::string y_of(double pixels) const { return formatted("{}", 1 - pixels / height_); }

  std::ostringstream out_;
  double width_, height_, top_, cell_width_, cell_height_ = panel_height, left_ = 74, right_ = 18, below_ = 60;
  double plot_width_ = panel_width - left_ - right_;
  bool own_legends_ = false;
  int blocks_ = 0;                                 // of data, so far
  std::string y_range_ = "", y_steps_ = "autofreq";          // of curves in all panels, if they share the axis
};

Script::Script(const Figure& figure) {
  const int columns = std::max(1, figure.columns), count = int(figure.panels.size());
  bool legends = false, shared = true;
  double legend_width = 0, heat_width = 0;
  for (const Panel& p : figure.panels) {
    legends |= p.curves.size() > 1;
    shared &= titles(p) == titles(figure.panels[0]);
    legend_width = std::max(legend_width, width_of(titles(p)) + 60);
    left_ = std::max(left_, width_of(p.y_names) + 44);
    const double names = double(p.x_names.size());
    for (double i = 0; turned(p.x_names) && i < names; ++i) {
      const double side = 0.7 * width_of({p.x_names[size_t(i)]});
      below_ = std::max(below_, side + 40);
      left_ = std::max(left_, side + 20 - plot_width_ * (i + 0.5) / names);
    }
    if (!p.heat.values.empty()) {
      heat_width = color_bar;
      cell_height_ = panel_width;
    }
  }
  own_legends_ = legends && !shared;
  right_ = std::max(right_, heat_width);
  cell_width_ = left_ + plot_width_ + right_ + (own_legends_ ? legend_width : 0);
  cell_height_ += below_ - 60;
  width_ = cell_width_ * columns;
  const std::vector<Curve> all = legends && shared ? figure.panels[0].curves : std::vector<Curve>();
  const double in_line = std::max(1.0, std::floor(width_ / legend_width));
  const double legend_height = all.empty() ? 0 : 6 + legend_line * std::ceil(double(all.size()) / in_line);
  top_ = (figure.title.empty() ? 0 : title_height) + legend_height;
  height_ = top_ + cell_height_ * std::max(1, (count + columns - 1) / columns);

  out_ << std::setprecision(9);
  out_ << "set encoding utf8\nimage = GPVAL_VERSION < 5.2 ? 'image pixels' : 'image'\n"
       << "set terminal svg size " << width_ << "," << height_
       << " noenhanced font 'sans-serif,13' background rgb 'white'\n"
       << "set border 3 lc rgb '#555555'\nset tics nomirror out scale 0.5 tc rgb '#333333'\n"
       << "set grid lt 1 lw 0.6 lc rgb '#e4e4e4'\nset format x '%g'\nset format y '%g'\nset format cb '%.3g'\n";
  for (size_t i = 0; i < styles; ++i)
    out_ << "set style line " << i + 1 << " lw 2 ps 0.45 lc rgb '" << looks[i % looks.size()].color << "' dt "
         << dashes(i) << " pt " << looks[i % looks.size()].point << '\n';
  out_ << "set multiplot\n";
  label(figure.title, width_ / 2, title_height * 0.6, width_, 17);
  if (figure.shared_y) share_y(figure.panels);
  for (int i = 0; i < count; ++i) panel(figure.panels[size_t(i)], i / columns, i % columns);
  if (!all.empty()) {                              // above the panels: a panel with nothing in it but the legend
    place(0, top_ - legend_height, width_, legend_height);
    out_ << "unset border\nunset tics\nunset logscale\n"
         << "set key center center horizontal Left reverse samplen 3 maxcols " << in_line << "\nplot [0:1] [0:1] ";
    for (size_t i = 0; i < all.size(); ++i) out_ << (i ? ", " : "") << sample(all[i], i);
    out_ << '\n';
  }
  if (count == 0) out_ << "unset border\nunset tics\nplot [0:1] [0:1] NaN notitle\n";
  out_ << "unset multiplot\n";
}

// From the least to the greatest value, deviations included, and a twentieth of that on either side; a logarithmic axis
// from one of 1, 2, 5, 10, 20, ... to another, with these as its ticks where it has few powers of ten.
void Script::share_y(const std::vector<Panel>& panels) {
  double min = INFINITY, max = -INFINITY;
  const bool log = std::ranges::any_of(panels, &Panel::log_y);
  for (const Panel& p : panels)
    for (const Curve& c : p.curves)
      for (size_t i = 0; i < c.x.size(); ++i) {
        if (!drawn(p, c.x[i], c.y[i])) continue;
        const double deviation = c.deviation.empty() ? 0 : c.deviation[i], low = c.y[i] - deviation;
        min = std::min(min, log && low <= 0 ? c.y[i] : low);
        max = std::max(max, c.y[i] + deviation);
      }
  if (!(min < max)) return;
  const double room = log ? 0 : 0.05 * (max - min);
  if (log) {
    std::vector<double> steps;
    for (double power = std::floor(std::log10(min)); power <= std::ceil(std::log10(max)); ++power)
      for (const double digit : {1, 2, 5}) steps.push_back(digit * std::pow(10, power));
    min = *std::prev(std::ranges::upper_bound(steps, min));
    max = *std::ranges::lower_bound(steps, max);
    std::string names;
    for (const double step : steps)
      if (step >= min && step <= max) names += formatted("{}{}", names.empty() ? "" : ", ", step);
    if (max / min < 100) y_steps_ = "(" + names + ")";
  }
  y_range_ = formatted("set yrange [{}:{}]\n", min - room, max + room);
}

void Script::place(double x, double y, double width, double height) {
  out_ << "set lmargin at screen " << x_of(x) << "\nset rmargin at screen " << x_of(x + width)
       << "\nset tmargin at screen " << y_of(y) << "\nset bmargin at screen " << y_of(y + height) << '\n';
}

// A text in the middle of its room; a long one in smaller letters.
void Script::label(const std::string& text, double x, double y, double room, int size, const char* direction) {
  if (text.empty()) return;
  out_ << "set label " << quoted(text) << " at screen " << x_of(x) << ',' << y_of(y) << " center" << direction
       << " font '," << std::clamp(13 * room / width_of({text}), 7.0, double(size)) << "'\n";
}

// Names, as many as there is room for; without names, numbers in these steps.
void Script::ticks(char axis, const std::vector<std::string>& names, const std::string& steps, double room) {
  out_ << "set " << axis << "tics " << (axis == 'x' && turned(names) ? "rotate by 45 right " : "norotate autojustify ");
  const size_t every = size_t(std::ceil(double(names.size()) * 15 / room));
  for (size_t i = 0; i < names.size(); i += every) out_ << (i ? ", " : "(") << quoted(names[i]) << ' ' << i;
  out_ << (names.empty() ? steps : ")") << '\n';
}

// A panel in its cell of the grid. A logarithmic axis cannot show a histogram's bar at 0: its label gives that count.
void Script::panel(const Panel& p, int row, int column) {
  const double x = column * cell_width_ + left_, y = top_ + row * cell_height_ + above;
  const double height = cell_height_ - above - below_;
  place(x, y, plot_width_, height);
  std::string x_label = p.x_label;
  for (const Curve& c : p.curves)
    if (p.log_x && c.style == Style::bars && !c.x.empty() && c.x[0] == 0)
      x_label += formatted("{}{} {}", x_label == p.x_label ? "   at 0: " : ", ", c.title, c.y[0]);
  label(p.title, x + plot_width_ / 2, y - 16, plot_width_ + right_ + 40, 14);
  label(x_label, x + plot_width_ / 2, y + height + below_ - 18, plot_width_ + right_ + 40, 13);
  label(p.y_label, x - std::max(60.0, width_of(p.y_names) + 30), y + height / 2, height + 60, 13, " rotate");
  if (own_legends_ && p.curves.size() > 1)
    out_ << "set key at screen " << x_of(x + plot_width_ + 8) << ',' << y_of(y) << " left top Left reverse samplen 2\n";
  else out_ << "unset key\n";
  out_ << (p.log_x ? "set" : "unset") << " logscale x\n" << (p.log_y ? "set" : "unset") << " logscale y\n"
       << "set autoscale\n";
  ticks('y', p.y_names, p.heat.values.empty() ? y_steps_ : "autofreq", height);
  if (p.heat.values.empty()) out_ << y_range_;
  if (p.heat.values.empty()) curves(p);
  else heat(p, x, y, height);
  out_ << "unset label\n";
}

void Script::no_values() {
  out_ << "set xtics autofreq\nset label 'no values' at graph 0.5,0.5 center\nplot [1:2] [1:2] NaN notitle\n";
}

// Gnuplot does not do this by itself: room for the labels of ticks, no ticks between whole numbers (epochs), a range
// around a single x or around bars, and a panel without points.
void Script::curves(const Panel& p) {
  double min = INFINITY, max = -INFINITY, least = INFINITY;
  size_t count = 0;
  bool whole = true;
  for (const Curve& c : p.curves)
    for (size_t i = 0; i < c.x.size(); ++i) {
      if (!drawn(p, c.x[i], c.y[i])) continue;
      min = std::min(min, c.x[i]);
      max = std::max(max, c.x[i]);
      least = std::min(least, c.y[i]);
      whole &= c.x[i] == std::floor(c.x[i]);
      ++count;
    }
  if (min > max) return no_values();
  const Bars bars(p);
  const bool single = min == max;
  if (bars.count > 0) {
    min = bars.moved(min, -0.6 * bars.count);
    max = bars.moved(max, 0.6 * bars.count);
  } else if (single) {
    min = p.log_x ? min / 2 : min - 1;
    max = p.log_x ? max * 2 : max + 1;
  }
  if (bars.count > 0 || single) out_ << "set xrange [" << min << ':' << max << "]\n";
  const double step = round_step((max - min) / 6), powers = std::log10(max / min);
  if (!p.log_x) ticks('x', p.x_names, formatted("{}", std::max(whole ? 1.0 : 0, step)), plot_width_);
  else ticks('x', p.x_names, powers < 2 ? "autofreq" : formatted("{},{}", std::pow(10, std::ceil(std::log10(min))),
                                          std::pow(10, std::ceil(powers * 50 / plot_width_))), plot_width_);

  const double foot = p.log_y ? std::pow(10, std::ceil(std::log10(least)) - 1) : 0;   // of bars: a power below all y
  double place = -0.5 * (bars.count - 1);          // of a bar beside its x, in widths
  std::string plot;
  for (size_t i = 0; i < p.curves.size(); ++i) {
    const Curve& c = p.curves[i];
    const bool bar = c.style == Style::bars, points = c.style == Style::points;
    const std::string block = formatted("$curve{}", blocks_++), color = looks[i % looks.size()].color;
    out_ << block << " << END\n";                  // x, y, y - deviation, y + deviation, left and right side of a bar
    for (size_t k = 0; k < c.x.size(); ++k) {
      const double x = c.x[k], y = c.y[k], deviation = c.deviation.empty() ? 0 : c.deviation[k], low = y - deviation;
      if (drawn(p, x, y))
        out_ << (bar ? bars.moved(x, place) : x) << ' ' << y << ' ' << (p.log_y && low <= 0 ? foot : low) << ' '
             << y + deviation << ' ' << bars.moved(x, place - 0.5) << ' ' << bars.moved(x, place + 0.5);
      out_ << '\n';                                // an empty line is a gap
    }
    out_ << "NaN NaN NaN NaN NaN NaN\nEND\n";      // so that no block is empty
    if (!c.deviation.empty() && !bar)
      plot += formatted("{} using 1:3:4 with filledcurves lc rgb '{}' fs transparent solid 0.15 noborder notitle, ",
                        block, color);
    if (bar) plot += formatted("{} using 1:2:5:6:({}):2 with boxxyerror fs solid 0.7 lc rgb '{}'", block, foot, color);
    else plot += formatted("{} using 1:2 with {} ls {}{}", block,
                           points ? "points" : c.style == Style::line ? "lines" : "linespoints", i % styles + 1,
                           points && count > 500 ? " ps 0.2" : "");
    plot += points && own_legends_ ? " notitle, " + sample(c, i) + ", " : " title " + quoted(c.title) + ", ";
    if (!c.deviation.empty() && bar)
      plot += block + " using 1:3:(0):($4-$3) with vectors nohead lw 2 lc rgb '#333333' notitle, ";
    place += bar;
  }
  out_ << "plot " << plot << "NaN notitle\n";
}

void Script::heat(const Panel& p, double x, double y, double height) {
  const HeatMap& map = p.heat;
  const Matrix image = heat_image(p);
  const auto [min, max] = color_range(map, image);
  if (std::isinf(min)) return no_values();
  const size_t rows = image.size(), columns = image[0].size();
  const size_t down = rows == 1 ? 2 : 1, across = columns == 1 ? 2 : 1;       // an image has at least 2 x 2 pixels
  const std::string block = formatted("$heat{}", blocks_++);
  out_ << block << " << END\n";
  for (size_t i = 0; i < rows * down; ++i)
    for (size_t j = 0; j < columns * across; ++j) {
      const double v = image[i / down][j / across];
      out_ << (std::isfinite(v) ? formatted("{}", v) : "NaN") << (j + 1 < columns * across ? ' ' : '\n');
    }
  // A pixel is so many rows high, and so many columns wide
  const double high = double(heat_block(map.values.size())) / double(down);
  const double wide = double(heat_block(map.values[0].size())) / double(across);
  const double bottom = double(rows * down) * high, right = double(columns * across) * wide;
  out_ << "END\n";
  ticks('x', p.x_names, formatted("{}", std::max(1.0, round_step(right / 6))), plot_width_);
  ticks('y', p.y_names, formatted("{}", std::max(1.0, round_step(bottom / 6))), height);
  const char* colors = map.diverging ? "0 '#8c3d04', 1 '#f0a04b', 2 '#ffffff', 3 '#6baed6', 4 '#08306b'"
                                     : "0 '#ffffff', 1 '#6baed6', 2 '#08306b'";
  out_ << "set xrange [-0.5:" << right - 0.5 << "]\nset yrange [" << bottom - 0.5 << ":-0.5]\nset cbrange [" << min
       << ':' << max << "]\nset palette defined (" << colors << ")\nset colorbox user origin "
       << x_of(x + plot_width_ + 12) << ',' << y_of(y + height) << " size " << 14 / width_ << ',' << height / height_
       << "\nunset grid\nset object 1 rectangle from graph 0,0 to graph 1,1 behind fc rgb '#d0d0d0' fs solid noborder\n"
       << formatted("plot {} matrix using ($1*{}+{}):($2*{}+{}):3 with {} notitle\n", block, wide, (wide - 1) / 2, high,
                    (high - 1) / 2, rows * columns > 4096 ? "@image" : "image pixels")
       << "unset object 1\nset grid\n";
}

}  // namespace

std::string gnuplot_script(const Figure& figure) { return Script(figure).text(); }

}  // namespace minbert
