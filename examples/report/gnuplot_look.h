// How curves look, for gnuplot. Colors are those of Okabe and Ito, which the color-blind tell apart; dashes serve
// grayscale.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "minbert/error.h"
#include "report/figure.h"

namespace minbert {

struct Look {
  const char *color, *dashes;
  int point;                                       // gnuplot's number for its form
};
inline constexpr std::array<Look, 7> looks = {
    {{"#0072B2", "solid", 7}, {"#D55E00", "(9,4)", 5}, {"#009E73", "(3,3)", 9}, {"#CC79A7", "(12,3,3,3)", 11},
     {"#000000", "(1.5,3)", 13}, {"#56B4E9", "(6,2)", 6}, {"#E69F00", "(9,3,1.5,3,1.5,3)", 4}}};

inline constexpr size_t styles = 2 * looks.size();        // the second time a color comes with another pattern
inline const char* dashes(size_t style) { return looks[(style + style / looks.size()) % looks.size()].dashes; }

// A text in gnuplot's single quotes, where only the quote itself has a special meaning.
inline std::string quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) all.append(c == '\'' ? 2 : 1, static_cast<unsigned char>(c) < ' ' ? ' ' : c);
  return all + "'";
}

// The pixels that the longest of these texts takes in letters of 13 points, or more.
inline double width_of(const std::vector<std::string>& texts) {
  long longest = 0;
  for (const std::string& text : texts)            // counts letters, not the bytes that continue one in UTF-8
    longest = std::max(longest, long(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; })));
  return 8 * double(longest);
}

inline bool drawn(const Panel& panel, double x, double y) {
  return std::isfinite(x) && std::isfinite(y) && (!panel.log_x || x > 0) && (!panel.log_y || y > 0);
}

inline std::vector<std::string> titles(const Panel& panel) {
  std::vector<std::string> all;
  for (const Curve& curve : panel.curves) all.push_back(curve.title);
  return all;
}

// Bars: those at one x share the distance to the next x, which is a ratio on a logarithmic axis.
struct Bars {
  explicit Bars(const Panel& p) : log(p.log_x) {
    for (const Curve& c : p.curves)
      if (c.style == Curve::Style::bars) {
        ++count;
        for (size_t i = 1; i < c.x.size(); ++i) {
          const double distance = std::abs(on_axis(c.x[i]) - on_axis(c.x[i - 1]));
          if (distance > 0 && distance < width) width = distance;
        }
      }
    width = (std::isinf(width) ? 1 : width) * (count > 1 || !p.x_names.empty() ? 0.8 : 0.96) / std::max(1, count);
  }
  double on_axis(double x) const { return log ? std::log10(x) : x; }
  double moved(double x, double bars) const { return log ? x * std::pow(10, bars * width) : x + bars * width; }

  bool log;
  int count = 0;
  double width = INFINITY;
};

// The values at both ends of a heat map's colors; infinite if the image has no value.
inline std::pair<double, double> color_range(const HeatMap& map, const Matrix& image) {
  double min = INFINITY, max = -INFINITY;
  for (const auto& row : image)
    for (const double v : row)
      if (std::isfinite(v)) {
        min = std::min(min, v);
        max = std::max(max, v);
      }
  if (min > max) return {min, max};
  min = std::isnan(map.min) ? min : map.min;
  max = std::isnan(map.max) ? max : map.max;
  if (map.diverging) {
    max = std::max(std::abs(min), std::abs(max));
    min = -max;
  }
  return {min, min < max ? max : min + 1};
}

// 1, 2 or 5 times a power of ten, at least x.
inline double round_step(double x) {
  const double power = std::pow(10, std::floor(std::log10(x)));
  for (const double factor : {1, 2, 5})
    if (factor * power >= x) return factor * power;
  return 10 * power;
}

// A place in the legend, without a plot.
inline std::string sample(const Curve& c, size_t i) {
  std::string look = formatted("lines ls {}", i % styles + 1);
  if (c.style == Curve::Style::points) look = formatted("points ls {} ps 0.7", i % styles + 1);
  if (c.style == Curve::Style::bars) look = formatted("boxes fs solid 0.7 lc rgb '{}'", looks[i % looks.size()].color);
  return formatted("NaN with {} title {}", look, quoted(c.title));
}

}  // namespace minbert
