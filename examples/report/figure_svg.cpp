// A figure as SVG: a grid of panels, each with its axes and its curves, or a heat map with its
// color bar.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "engine/text.h"
#include "report/figure.h"
#include "report/svg.h"

namespace minbert {
namespace {

using Style = Curve::Style;

// Colors are those of Okabe and Ito, which the color-blind tell apart; dashes and markers serve
// grayscale.
struct Look {
  const char *color, *dashes, *marker;             // marker: a path around the point
};
constexpr const char *circle = "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z",
                     *square = "m-2.7 -2.7h5.4v5.4h-5.4z", *triangle = "m0 -3.7l3.4 6.2h-6.8z",
                     *diamond = "m0 -4l4 4l-4 4l-4 -4z";
constexpr std::array<Look, 7> looks = {
    {{"#0072B2", "", circle}, {"#D55E00", "8 4", square}, {"#009E73", "2 4", triangle},
     {"#CC79A7", "11 4 2 4", diamond}, {"#000000", "1 3", circle}, {"#56B4E9", "5 4", square},
     {"#E69F00", "9 4 1 4 1 4", triangle}}};
// after seven curves the colors come again, with other dashes
Look look(size_t i) {
  const Look& other = looks[(i + i / looks.size()) % looks.size()];
  return {looks[i % looks.size()].color, other.dashes, other.marker};
}

// The color at t, from 0 to 1: white to dark blue.
std::string shade(double t) {
  constexpr int stops[][3] = {{255, 255, 255}, {107, 174, 214}, {8, 48, 107}};
  const int i = t >= 0.5;
  const auto mixed = [&](int c) {
    return std::lround(stops[i][c] + (2 * t - i) * (stops[i + 1][c] - stops[i][c]));
  };
  return formatted("rgb({},{},{})", mixed(0), mixed(1), mixed(2));
}

double width_of(const Names& texts) {              // of the longest, in letters of 12 pixels
  size_t longest = 0;
  for (const std::string& text : texts) longest = std::max(longest, text_width(text));
  return 7.3 * double(longest);
}
Names titles(const Panel& p) {
  Names all;
  for (const Curve& c : p.curves) all.push_back(c.title);
  return all;
}

// Values, or their logarithms, from min to max, on pixels from `from` to `to`.
struct Axis {
  bool log = false;
  double min = INFINITY, max = -INFINITY, from = 0, to = 0;
  Numbers ticks = {};
  Names texts = {};                                // of the ticks

  double scaled(double v) const { return log ? std::log10(v) : v; }
  double pixel(double of_scaled) const {
    return from + (to - from) * (of_scaled - min) / (max - min);
  }
  double at(double v) const { return pixel(scaled(v)); }
  double at_or_foot(double v) const { return log && v <= 0 ? from : at(v); }
  bool empty() const { return min > max; }
  void take(double v) {
    if (!std::isfinite(scaled(v))) return;
    min = std::min(min, scaled(v));
    max = std::max(max, scaled(v));
  }
  // Room for this share on both sides; more around a single value.
  void widen(double share) {
    const double size = std::max(std::abs(min), std::abs(max));
    const double around = log || size == 0 ? 0.5 : 0.1 * size;
    const double room = max - min > 1e-9 * size ? share * (max - min) : around;
    min -= room, max += room;
  }
  // At most so many ticks: names, or round numbers; `whole`: none between whole numbers.
  void mark(const Names& names, double most, bool whole) {
    for (size_t i = 0; i < names.size(); i += size_t(std::ceil(double(names.size()) / most))) {
      ticks.push_back(double(i));
      texts.push_back(names[i]);
    }
    if (!names.empty()) return;
    for (const Numbers& digits :
         {Numbers{1}, {1, 2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9}})
      if (log && ticks.size() < 3) mark_powers(digits, std::ceil((max - min) / most));
    if (ticks.size() < 3) mark_steps(most, whole);
    for (const double t : ticks) texts.push_back(formatted("{}", t));
  }

 private:
  void mark_powers(const Numbers& digits, double every) {
    ticks.clear();
    for (double power = every * std::floor(min / every); power <= max; power += every)
      for (const double digit : digits)
        if (const double v = power + std::log10(digit); v >= min && v <= max)
          ticks.push_back(digit * std::pow(10, power));
  }
  void mark_steps(double most, bool whole) {       // multiples of 1, 2 or 5 times a power of ten
    const double low = log ? std::pow(10, min) : std::min(min, max),
                 high = log ? std::pow(10, max) : std::max(min, max);
    double step = std::pow(10, std::floor(std::log10((high - low) / most)));
    for (const double factor : {2.0, 2.5, 2.0})
      if ((high - low) / step > most) step *= factor;
    if (whole) step = std::max(step, 1.0);
    ticks.clear();
    for (double k = std::ceil(low / step); k * step <= high; ++k) ticks.push_back(k * step + 0.0);
  }
};

// Which ticks get their texts, so that none lies over another: on a logarithmic axis the powers of ten first.
// half: half of the i-th text's room
template <class Half>
std::vector<bool> texts_with_room(const Axis& axis, const Half& half) {
  std::vector<bool> has_text(axis.ticks.size());
  const auto add = [&](size_t i) {
    for (size_t k = 0; k < axis.ticks.size(); ++k)
      if (has_text[k] && std::abs(axis.at(axis.ticks[i]) - axis.at(axis.ticks[k])) < half(i) + half(k) + 4) return;
    has_text[i] = true;
  };
  for (const bool powers : {true, false})
    for (size_t i = 0; i < axis.ticks.size(); ++i) {
      const double power = axis.scaled(axis.ticks[i]);
      if (powers == (axis.log && std::abs(power - std::round(power)) < 1e-9)) add(i);
    }
  return has_text;
}

bool drawn(const Panel& p, double x, double y) {
  return std::isfinite(x) && std::isfinite(y) && (!p.log_x || x > 0) && (!p.log_y || y > 0);
}
double deviation(const Curve& c, size_t i) { return c.deviation.empty() ? 0 : c.deviation[i]; }

// Bars at one x share the distance to the next x.
struct Bars {
  int count = 0;
  double room = INFINITY;                          // of all bars at one x, on the scale of its axis
  Bars(const Panel& p, const Axis& x) {
    for (const Curve& c : p.curves) {
      count += c.style == Style::bars;
      for (size_t i = 1; i < c.x.size() && c.style == Style::bars; ++i)
        if (const double d = std::abs(x.scaled(c.x[i]) - x.scaled(c.x[i - 1])); d > 0)
          room = std::min(room, d);
    }
    room = (std::isinf(room) ? 1 : room) * (count > 1 || !p.x_names.empty() ? 0.8 : 0.96);
  }
};

struct Axes {
  Axis x, y, color = {};
  Matrix image = {};                               // of a heat map
};

// The ranges of what is drawn.
Axes curve_axes(const Panel& p) {
  for (const Curve& c : p.curves)
    MB_CHECK(c.x.size() == c.y.size() && (c.deviation.empty() || c.deviation.size() == c.x.size()),
             "figure: curve \"{}\" of panel \"{}\" has {} values of x, {} of y and {} deviations",
             c.title, p.title, c.x.size(), c.y.size(), c.deviation.size());
  Axes a{{.log = p.log_x}, {.log = p.log_y}};
  bool lines = true;
  for (const Curve& c : p.curves)
    for (size_t i = 0; i < c.x.size(); ++i) {
      if (!drawn(p, c.x[i], c.y[i])) continue;
      lines &= c.style == Style::line;
      a.x.take(c.x[i]);
      for (const double v : {c.y[i] - deviation(c, i), c.y[i], c.y[i] + deviation(c, i)})
        a.y.take(v);
    }
  if (a.x.empty()) return a;
  const Bars bars(p, a.x);
  if (bars.count > 0) a.x.min -= 0.6 * bars.room, a.x.max += 0.6 * bars.room;
  else a.x.widen(lines ? 0 : 0.03);
  const bool on_zero = bars.count > 0 && !p.log_y;
  if (on_zero) a.y.take(0);
  const bool positive = a.y.min >= 0;
  a.y.widen(0.05);
  if (on_zero && positive) a.y.min = 0;
  return a;
}

size_t heat_block(size_t side) { return (side + 127) / 128; }

// What is drawn of a heat map: its values, or the means of its blocks.
Matrix heat_image(const Panel& panel) {
  const Matrix& all = panel.heat.values;
  const size_t rows = all.size(), columns = all[0].size();
  for (size_t i = 0; i < rows; ++i)
    MB_CHECK(all[i].size() == columns,
             "figure: in the heat map of panel \"{}\", row {} has {} values and row 0 has {}",
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

Axes heat_axes(const Panel& p) {
  MB_CHECK(p.curves.empty(), "figure: panel \"{}\" has curves and a heat map", p.title);
  const HeatMap& map = p.heat;
  Axes a;
  a.image = heat_image(p);
  for (const auto& row : a.image)
    for (const double v : row) a.color.take(v);
  if (a.color.empty()) return a;
  if (!std::isnan(map.min)) a.color.min = map.min;
  if (!std::isnan(map.max)) a.color.max = map.max;
  if (!(a.color.min < a.color.max)) a.color.max = a.color.min + 1;
  a.x.min = a.y.max = -0.5;                        // the first row is on top
  a.x.max = double(a.image[0].size() * heat_block(map.values[0].size())) - 0.5;
  a.y.min = double(a.image.size() * heat_block(map.values.size())) - 0.5;
  return a;
}

// Gives the axes of panels with the same label the same range.
void share(Axis Axes::*axis, std::vector<Axes>& all, const Names& labels) {
  std::map<std::string, Axis> shared;
  for (size_t i = 0; i < all.size(); ++i) {
    const Axis& own = all[i].*axis;
    Axis& both = shared[labels[i]];
    both.min = std::min(both.min, own.min), both.max = std::max(both.max, own.max);
  }
  for (size_t i = 0; i < all.size(); ++i)
    if (Axis& own = all[i].*axis; !own.empty())
      own.min = shared[labels[i]].min, own.max = shared[labels[i]].max;
}

class FigureDrawing {
 public:
  explicit FigureDrawing(const Figure& figure);
  std::string picture() const { return svg_.picture(width_, height_); }

 private:
  void mark(const Panel& p, Axes& a) const;
  void words(double x, double y, double size, const std::string& text, double room,
             double angle = 0);
  double legend(double x, double y, double until, const std::vector<Curve>& curves);
  void panel(const Panel& p, Axes& axes, double x, double y);
  void curve(const Panel& p, size_t i, const Axes& axes);
  void bars(const Panel& p, size_t i, const Axes& axes);
  void heat(const HeatMap& map, const Axes& axes);
  void color_bar(const Axes& axes);

  Svg svg_;
  double plot_width_, plot_height_ = 190, width_ = 0, height_ = 0;
  bool own_legends_ = false;
};

FigureDrawing::FigureDrawing(const Figure& figure) {
  const std::vector<Panel>& panels = figure.panels;
  const int columns = std::max(1, figure.columns), count = int(panels.size());
  plot_width_ = columns == 1 ? 760 : columns == 2 ? 330 : columns == 3 ? 270 : 200;
  bool several = false, shared = true, one_scale = true;
  double left = 0, right = 20, bar = 0, legends = 0;
  std::vector<Axes> axes;
  Names x_labels, y_labels;
  for (const Panel& p : panels) {
    axes.push_back(p.heat.values.empty() ? curve_axes(p) : heat_axes(p));
    x_labels.push_back(p.x_label), y_labels.push_back(p.y_label);
    several |= p.curves.size() > 1;
    shared &= titles(p) == titles(panels[0]);
    legends = std::max(legends, width_of(titles(p)) + 48);
    if (!p.heat.values.empty()) plot_height_ = plot_width_ = std::min(plot_width_, 560.0);
  }
  if (figure.shared_x) share(&Axes::x, axes, x_labels);
  if (figure.shared_y) share(&Axes::y, axes, y_labels);
  if (figure.shared_colors) share(&Axes::color, axes, Names(panels.size()));
  for (size_t i = 0; i < panels.size(); ++i) {
    mark(panels[i], axes[i]);
    left = std::max(left, width_of(axes[i].y.texts) + 36);
    if (axes[i].color.empty() || !panels[i].heat.color_bar) continue;
    bar = std::max(bar, width_of(axes[i].color.texts) + 30);
    one_scale &= axes[i].color.min == axes[0].color.min && axes[i].color.max == axes[0].color.max;
  }
  own_legends_ = several && !shared;
  const double cell_width =
                   left + plot_width_ + right + (one_scale ? 0 : bar) + (own_legends_ ? legends : 0),
               cell_height = plot_height_ + 88;
  width_ = columns * cell_width + (one_scale ? bar : 0);
  words(width_ / 2, 24, 17, figure.title, width_);
  double top = figure.title.empty() ? 0 : 32;
  if (several && shared) top += 8 + legend(left, top + 18, width_ - 20, panels[0].curves);
  for (int i = 0; i < count; ++i) {
    const Panel& p = panels[size_t(i)];
    Axes& a = axes[size_t(i)];
    panel(p, a, i % columns * cell_width + left, top + i / columns * cell_height + 36);
    const bool last = i % columns == columns - 1 || i == count - 1;
    if (!a.color.empty() && p.heat.color_bar && (last || !one_scale)) color_bar(a);
  }
  height_ = top + std::max(1, (count + columns - 1) / columns) * cell_height;
}

void FigureDrawing::mark(const Panel& p, Axes& a) const {
  if (a.x.empty()) return;
  bool whole = !p.log_x;                           // no ticks between epochs
  for (const Curve& c : p.curves)
    for (size_t i = 0; i < c.x.size(); ++i)
      whole &= !drawn(p, c.x[i], c.y[i]) || c.x[i] == std::floor(c.x[i]);
  a.x.mark(p.x_names,
           plot_width_ / std::max(p.x_names.empty() ? 52.0 : 15.0, width_of(p.x_names) + 8), whole);
  a.y.mark(p.y_names, plot_height_ / (p.y_names.empty() ? 32 : 15), p.curves.empty());
  if (!a.color.empty()) a.color.mark({}, 6, false);
}

// A text around x; a long one in smaller letters.
void FigureDrawing::words(double x, double y, double size, const std::string& text,
                           double room, double angle) {
  svg_.text(x, y, text,
            {.size = std::clamp(12 * room / (width_of({text}) + 1), 7.0, size), .angle = angle});
}

// Returns its height.
double FigureDrawing::legend(double x, double y, double until, const std::vector<Curve>& curves) {
  double here = x, line = y;
  for (size_t i = 0; i < curves.size(); ++i) {
    const auto [color, dashes, marker] = look(i);
    const Style style = curves[i].style;
    const double width = width_of({curves[i].title}) + 56;
    if (here > x && here + width > until) here = x, line += 20;
    if (style == Style::bars) svg_.fill(point('M', here, line - 5) + "h26v10h-26z", color, 0.75);
    if (style == Style::line || style == Style::line_and_points)
      svg_.stroke(point('M', here, line) + "h26", color, 2, dashes);
    if (style == Style::points || style == Style::line_and_points)
      svg_.fill(point('M', here + 13, line) + marker, color);
    svg_.text(here + 33, line + 4, curves[i].title, {.anchor = "start"});
    here += width;
  }
  return line - y + 20;
}

// x, y: the top left of its axes.
void FigureDrawing::panel(const Panel& p, Axes& a, double x, double y) {
  const double middle = x + plot_width_ / 2, room = plot_width_ + 40, foot = y + plot_height_;
  a.x.from = x, a.x.to = x + plot_width_;
  a.y.from = a.color.from = foot, a.y.to = a.color.to = y;
  words(middle, y - 12, 14, p.title, room);
  words(middle, foot + 38, 13, p.x_label, room);
  words(x - width_of(a.y.texts) - 22, y + plot_height_ / 2, 13, p.y_label, plot_height_ + 30, -90);
  if (a.x.empty()) words(middle, y + plot_height_ / 2, 13, "no values", room);
  const char *gray = "#666", *grid = "#e6e6e6";
  const auto texts_of_x = texts_with_room(a.x, [&](size_t i) { return width_of({a.x.texts[i]}) / 2; });
  for (size_t i = 0; i < a.x.ticks.size(); ++i) {
    const double at = a.x.at(a.x.ticks[i]);
    if (a.image.empty() && p.x_names.empty())
      svg_.stroke(point('M', at, foot) + point('L', at, y), grid);
    svg_.stroke(point('M', at, foot) + "v4", gray);
    if (texts_of_x[i]) svg_.text(at, foot + 18, a.x.texts[i]);
  }
  const auto texts_of_y = texts_with_room(a.y, [](size_t) { return 4; });
  for (size_t i = 0; i < a.y.ticks.size(); ++i) {
    const double at = a.y.at(a.y.ticks[i]);
    if (a.image.empty()) svg_.stroke(point('M', x, at) + point('L', a.x.to, at), grid);
    svg_.stroke(point('M', x, at) + "h-4", gray);
    if (texts_of_y[i]) svg_.text(x - 8, at + 4, a.y.texts[i], {.anchor = "end"});
  }
  if (!a.color.empty()) heat(p.heat, a);
  for (size_t i = 0; i < p.curves.size() && !a.x.empty(); ++i)
    p.curves[i].style == Style::bars ? bars(p, i, a) : curve(p, i, a);
  svg_.stroke(point('M', x, y) + point('L', x, foot) + point('L', a.x.to, foot), gray);
  if (own_legends_ && p.curves.size() > 1) legend(a.x.to + 14, y + 8, 0, p.curves);
}

void FigureDrawing::curve(const Panel& p, size_t i, const Axes& a) {
  const Curve& c = p.curves[i];
  const auto [color, dashes, marker] = look(i);
  const bool lone = c.style != Style::line;        // each point has an error bar of its own,
  const bool cloud = c.style == Style::points && c.x.size() > 300;         // dots, not markers
  const double aside = 4 * (double(i) - double(p.curves.size() - 1) / 2);    // beside the others'
  std::string line, band, points, errors;
  // one run of neighbors after the other, then a gap
  for (size_t k = 0; k < c.x.size(); ++k) {
    std::string below;
    for (; k < c.x.size() && drawn(p, c.x[k], c.y[k]); ++k) {
      const double x = a.x.at(c.x[k]), y = a.y.at(c.y[k]), d = deviation(c, k);
      const char command = below.empty() ? 'M' : 'L';
      line += point(command, x, y) + (below.empty() ? "h0" : "");    // h0: a single point is a dot
      points += point('M', x, y) + (cloud ? "h0" : marker);
      band += point(command, x, a.y.at(c.y[k] + d));
      const double foot = a.y.at_or_foot(c.y[k] - d);
      if (d > 0) errors += point('M', x + aside, a.y.at(c.y[k] + d)) + point('L', x + aside, foot);
      below = point('L', x, foot) + below;
    }
    if (!below.empty()) band += below + "z";
  }
  if (!c.deviation.empty() && !lone) svg_.fill(band, color, 0.15);
  if (!errors.empty() && lone) svg_.stroke(errors, color, 1.2);
  if (c.style != Style::points) svg_.stroke(line, color, 2, dashes);
  if (cloud) svg_.stroke(points, color, 1.8);
  else if (lone) svg_.fill(points, color);
}

void FigureDrawing::bars(const Panel& p, size_t i, const Axes& a) {
  const Curve& c = p.curves[i];
  const Bars all(p, a.x);
  const auto before =
      std::ranges::count(p.curves.begin(), p.curves.begin() + long(i), Style::bars, &Curve::style);
  const double width = all.room / all.count, foot = a.y.at_or_foot(0);
  std::string boxes, errors;
  for (size_t k = 0; k < c.x.size(); ++k) {
    if (!drawn(p, c.x[k], c.y[k])) continue;
    const double begin = a.x.scaled(c.x[k]) - all.room / 2 + double(before) * width,
                 d = deviation(c, k);
    const double left = a.x.pixel(begin), right = a.x.pixel(begin + width), top = a.y.at(c.y[k]);
    boxes += point('M', left, foot) + point('L', left, top) + point('L', right, top) +
             point('L', right, foot) + "z";
    if (d > 0)
      errors += point('M', (left + right) / 2, a.y.at_or_foot(c.y[k] - d)) +
                point('L', (left + right) / 2, a.y.at(c.y[k] + d));
  }
  svg_.fill(boxes, look(i).color, 0.75);
  if (!errors.empty()) svg_.stroke(errors, "#333", 2);
}

// Cells of one color are one path of strips, a cell high; a gap stays gray.
void FigureDrawing::heat(const HeatMap& map, const Axes& a) {
  const auto& [x, y, color, image] = a;
  const double rows = double(image.size()), columns = double(image[0].size());
  svg_.box(x.from, y.to, plot_width_, plot_height_, "#d0d0d0");
  const auto level = [&](double v) {
    return std::isfinite(v)
               ? int(64 * std::clamp((v - color.min) / (color.max - color.min), 0.0, 1.0))
               : -1;
  };
  std::map<int, std::string> strips;
  for (size_t i = 0; i < image.size(); ++i)
    for (size_t j = 0, end; j < image[i].size(); j = end) {
      const int here = level(image[i][j]);
      for (end = j + 1; end < image[i].size() && level(image[i][end]) == here;) ++end;
      if (here >= 0) strips[here] += formatted("M{} {}h{}", j, double(i) + 0.5, end - j);
    }
  const std::string onto_panel = formatted("translate({} {}) scale({} {})", x.from, y.to,
                                      plot_width_ / columns, plot_height_ / rows);
  for (const auto& [l, strip] : strips)
    svg_.add("path", {{"d", strip}, {"stroke", shade(l / 64.0)}, {"transform", onto_panel},
                      {"shape-rendering", "crispEdges"}});
  for (const double row : map.borders)
    svg_.stroke(point('M', x.from, y.at(row - 0.5)) + point('L', x.to, y.at(row - 0.5)), "#D55E00", 3);
}

void FigureDrawing::color_bar(const Axes& a) {
  const auto& [x, y, color, image] = a;
  const double bar = x.to + 14, part = plot_height_ / 64;
  for (int l = 0; l < 64; ++l)
    svg_.box(bar, y.from - part * (l + 1), 14, part + (l > 0 ? 0.5 : 0), shade(l / 63.0));
  for (size_t i = 0; i < color.ticks.size(); ++i) {
    const double at = color.at(color.ticks[i]);
    svg_.stroke(point('M', bar + 14, at) + "h4", "#666");
    svg_.text(bar + 21, at + 4, color.texts[i], {.anchor = "start"});
  }
}

}  // namespace

std::string figure_svg(const Figure& figure) { return FigureDrawing(figure).picture(); }

}  // namespace minbert
