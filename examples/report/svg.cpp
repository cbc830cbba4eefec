// Elements of SVG, whose texts and attributes are all escaped here.
#include "report/svg.h"

#include <cmath>

namespace minbert {
namespace {

double rounded(double v) { return std::round(v * 100) / 100 + 0.0; }

}  // namespace

std::string escaped(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if (c == '<') all += "&lt;";
    else if (c == '>') all += "&gt;";
    else if (c == '&') all += "&amp;";
    else if (c == '"') all += "&quot;";
    else all += static_cast<unsigned char>(c) < ' ' ? ' ' : c; // XML forbids most of the others
  }
  return all;
}

std::string point(char command, double x, double y) {
  return formatted("{}{} {}", command, rounded(x), rounded(y));
}

Attribute::Attribute(const char* n, double v) : name(n), value(formatted("{}", rounded(v))) {}

void Svg::add(const char* tag, const std::vector<Attribute>& attributes, const std::string& text) {
  elements_ += formatted("<{}", tag);
  for (const Attribute& a : attributes)
    if (!a.value.empty()) elements_ += formatted(" {}=\"{}\"", a.name, escaped(a.value));
  elements_ += text.empty() ? "/>\n" : formatted(">{}</{}>\n", escaped(text), tag);
}

void Svg::text(double x, double y, const std::string& words, const Letters& l) {
  const std::string rotation =
      l.angle == 0 ? "" : formatted("rotate({} {} {})", l.angle, rounded(x), rounded(y));
  if (!words.empty())
    add("text",
        {{"x", x},
         {"y", y},
         {"font-size", l.size},
         {"text-anchor", l.anchor},
         {"font-weight", l.weight},
         {"fill", l.color},
         {"transform", rotation}},
        words);
}

void Svg::box(double x, double y, double width, double height, const std::string& fill,
              const char* stroke, double radius) {
  add("rect", {{"x", x},
               {"y", y},
               {"width", width},
               {"height", height},
               {"rx", radius},
               {"fill", fill},
               {"stroke", stroke}});
}

void Svg::fill(const std::string& path, const char* color, double opacity) {
  add("path", {{"d", path}, {"fill", color}, {"opacity", opacity}});
}

void Svg::stroke(const std::string& path, const char* color, double width, const char* dashes) {
  add("path", {{"d", path},
               {"fill", "none"},
               {"stroke", color},
               {"stroke-width", width},
               {"stroke-dasharray", dashes},
               {"stroke-linecap", "round"},
               {"stroke-linejoin", "round"}});
}

std::string Svg::picture(double width, double height) const {
  constexpr double enlarged = 1.5;                  // letters of 18 pixels instead of 12
  const double w = std::ceil(width), h = std::ceil(height);
  return formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\" "
      "font-family=\"sans-serif\" role=\"img\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n{}</svg>\n",
      enlarged * w, enlarged * h, w, h, elements_);
}

}  // namespace minbert
