// The script that draws a figure: every place is computed here, in pixels, so that the panels stand in line whatever
// their tick marks say. Colors are those of Okabe and Ito, which the color-blind tell apart; dashes serve grayscale.
#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "minbert/error.h"
#include "minbert/figure.h"

namespace minbert {
namespace {

constexpr double panel_width = 420, panel_height = 270;        // with labels and margins
constexpr double left = 74, right = 18, above = 36, below = 60, title_height = 36, legend_height = 30,
                 legend_width = 150;

struct Look {
  const char *color, *dashes;
  int point;                                       // gnuplot's number for its form
};
constexpr std::array<Look, 7> looks = {{{"#0072B2", "solid", 7}, {"#D55E00", "(9,4)", 5}, {"#009E73", "(3,3)", 9},
                                        {"#CC79A7", "(12,3,3,3)", 11}, {"#000000", "(1.5,3)", 13},
                                        {"#56B4E9", "(6,2)", 6}, {"#E69F00", "(9,3,1.5,3,1.5,3)", 4}}};

constexpr size_t styles = 2 * looks.size();        // the second time a color comes with another pattern
const char* dashes(size_t style) { return looks[(style + style / looks.size()) % looks.size()].dashes; }

// A text in gnuplot's single quotes, where only the quote itself has a special meaning.
std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all.append(c == '\'' ? 2 : 1, static_cast<unsigned char>(c) < ' ' ? ' ' : c);
  return all + "'";
}

bool drawn(const Panel& panel, double x, double y) {
  return std::isfinite(x) && std::isfinite(y) && (!panel.log_x || x > 0) && (!panel.log_y || y > 0);
}

std::vector<std::string> titles(const Panel& panel) {
  std::vector<std::string> all;
  for (const Curve& curve : panel.curves) all.push_back(curve.title);
  return all;
}

class Script {
 public:
  explicit Script(const Figure& figure);
  std::string text() const { return out_.str(); }

 private:
  void place(double x, double y, double width, double height);   // of the axes, in pixels from the top left
  void panel(const Panel& panel, int row, int column);
  void ranges(const Panel& panel);
  void curves(const Panel& panel);
  void shared_legend(const Panel& panel);
  std::string x_of(double pixels) const { return format("{}", pixels / width_); }
  std::string y_of(double pixels) const { return format("{}", 1 - pixels / height_); }

  std::ostringstream out_;
  double width_, height_, top_ = 0, cell_width_ = panel_width;
  bool own_legends_ = false;
  int blocks_ = 0;                                 // of data, so far
};

Script::Script(const Figure& figure) {
  const int columns = std::max(1, figure.columns), count = int(figure.panels.size());
  bool legend = false, shared = true;
  for (const Panel& p : figure.panels) {
    legend |= p.curves.size() > 1;
    shared &= titles(p) == titles(figure.panels[0]);
  }
  own_legends_ = legend && !shared;
  cell_width_ += own_legends_ ? legend_width : 0;
  top_ = (figure.title.empty() ? 0 : title_height) + (legend && shared ? legend_height : 0);
  width_ = cell_width_ * columns;
  height_ = top_ + panel_height * std::max(1, (count + columns - 1) / columns);

  out_ << std::setprecision(9);
  out_ << "set encoding utf8\n"
       << "set terminal svg size " << width_ << "," << height_
       << " noenhanced font 'sans-serif,13' background rgb 'white'\n"
       << "set border 3 lc rgb '#555555'\nset tics nomirror out scale 0.5 tc rgb '#333333'\n"
       << "set grid lt 1 lw 0.6 lc rgb '#e4e4e4'\nset style fill transparent solid 0.15 noborder\n";
  for (size_t i = 0; i < styles; ++i)
    out_ << "set style line " << i + 1 << " lw 2 ps 0.45 lc rgb '" << looks[i % looks.size()].color << "' dt "
         << dashes(i) << " pt " << looks[i % looks.size()].point << '\n';
  out_ << "set multiplot\n";
  if (!figure.title.empty())
    out_ << "set label 1 " << quoted(figure.title) << " at screen 0.5," << y_of(title_height * 0.6)
         << " center font ',17'\n";
  for (int i = 0; i < count; ++i) {
    panel(figure.panels[size_t(i)], i / columns, i % columns);
    out_ << "unset label\n";
  }
  if (legend && shared) shared_legend(figure.panels[0]);
  if (count == 0) out_ << "unset border\nunset tics\nplot [0:1] [0:1] NaN notitle\n";
  out_ << "unset multiplot\n";
}

void Script::place(double x, double y, double width, double height) {
  out_ << "set lmargin at screen " << x_of(x) << "\nset rmargin at screen " << x_of(x + width)
       << "\nset tmargin at screen " << y_of(y) << "\nset bmargin at screen " << y_of(y + height) << '\n';
}

// A panel above the others, as wide as the figure, with nothing in it but the legend.
void Script::shared_legend(const Panel& panel) {
  place(0, top_ - legend_height, width_, legend_height);
  out_ << "unset border\nunset tics\nunset title\nunset xlabel\n"
       << "set key center center horizontal Left reverse samplen 3\n"
       << "plot [0:1] [0:1] ";
  for (size_t i = 0; i < panel.curves.size(); ++i)
    out_ << (i ? ", " : "") << "NaN with lines ls " << i % styles + 1 << " title "
         << quoted(panel.curves[i].title);
  out_ << '\n';
}

void Script::panel(const Panel& p, int row, int column) {
  const double x = column * cell_width_ + left, y = top_ + row * panel_height + above;
  const double width = panel_width - left - right, height = panel_height - above - below;
  place(x, y, width, height);
  out_ << "set title " << quoted(p.title) << " offset 0,-0.3 font ',14'\nset xlabel " << quoted(p.x_label)
       << " offset 0,0.3\nset label 2 " << quoted(p.y_label) << " at screen " << x_of(x - left + 14) << ','
       << y_of(y + height / 2) << " center rotate\n";
  if (own_legends_ && p.curves.size() > 1)
    out_ << "set key at screen " << x_of(x + width + 8) << ',' << y_of(y) << " left top Left reverse samplen 2\n";
  else out_ << "unset key\n";
  out_ << (p.log_x ? "set" : "unset") << " logscale x\n" << (p.log_y ? "set" : "unset") << " logscale y\n";
  ranges(p);
  curves(p);
}

// 1, 2 or 5 times a power of ten, at least x.
double round_step(double x) {
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double factor : {1, 2, 5})
    if (factor * power >= x) return factor * power;
  return 10 * power;
}

// Gnuplot does not do this by itself: room for the labels of ticks, no ticks between whole numbers (epochs), a range
// around a single x, and a panel without points.
void Script::ranges(const Panel& p) {
  double min = INFINITY, max = -INFINITY;
  bool whole = true;
  for (const Curve& c : p.curves)
    for (size_t i = 0; i < c.x.size(); ++i) {
      if (!drawn(p, c.x[i], c.y[i])) continue;
      min = std::min(min, c.x[i]);
      max = std::max(max, c.x[i]);
      whole &= c.x[i] == std::floor(c.x[i]);
    }
  out_ << "set autoscale\nset xtics autofreq\n";
  if (min > max) {
    out_ << "set xrange [1:2]\nset yrange [1:2]\nset label 3 'no values' at graph 0.5,0.5 center\n";
    return;
  }
  if (min == max) {
    min = p.log_x ? min / 2 : min - 1;
    max = p.log_x ? max * 2 : max + 1;
    out_ << "set xrange [" << min << ':' << max << "]\n";
  }
  const double step = round_step((max - min) / 6);
  if (!p.log_x) out_ << "set xtics " << (whole ? std::max(1.0, step) : step) << '\n';
}

void Script::curves(const Panel& p) {
  std::string plot;
  for (size_t i = 0; i < p.curves.size(); ++i) {
    const Curve& c = p.curves[i];
    const std::string block = format("$curve{}", blocks_++);
    out_ << block << " << END\n";
    for (size_t k = 0; k < c.x.size(); ++k)
      if (drawn(p, c.x[k], c.y[k]))
        out_ << c.x[k] << ' ' << c.y[k] << ' ' << (c.deviation.empty() ? 0 : c.deviation[k]) << '\n';
      else out_ << '\n';                           // an empty line is a gap
    out_ << "NaN NaN NaN\nEND\n";                  // so that no block is empty
    const size_t style_line = i % styles + 1;
    if (!c.deviation.empty())
      plot += format("{} using 1:($2-$3):($2+$3) with filledcurves lc rgb '{}' notitle, ", block,
                     looks[i % looks.size()].color);
    const char* style = c.style == Curve::Style::line ? "lines" : c.style == Curve::Style::points ? "points"
                                                                                                  : "linespoints";
    plot += format("{} using 1:2 with {} ls {} title {}, ", block, style, style_line, quoted(c.title));
  }
  out_ << "plot " << plot << "NaN notitle\n";
}

}  // namespace

std::string gnuplot_script(const Figure& figure) { return Script(figure).text(); }

}  // namespace minbert
