// A picture as SVG: shapes one upon the other, in pixels from the top left.
//
//   Svg svg;
//   svg.box(10, 10, 60, 20, "#0072B2");
//   svg.text(40, 48, "a <box>");
//   write_file("box.svg", svg.picture(80, 60));
#pragma once

#include <string>
#include <vector>

#include "minbert/error.h"

namespace minbert {

// As a text or an attribute of XML and HTML.
std::string escaped(const std::string& text);

// A path's command to a point: "M12.5 7".
std::string point(char command, double x, double y);

struct Attribute {
  std::string name, value;
  Attribute(const char* n, double v);              // with two decimals at most
  Attribute(const char* n, const std::string& v) : name(n), value(v) {}
  Attribute(const char* n, const char* v) : name(n), value(v) {}
};

struct Letters {
  double size = 12;
  const char *anchor = "middle", *color = "#333", *weight = "normal";
  double angle = 0;                                // degrees, around x and y
};

class Svg {
 public:
  // Any element. An attribute without a value is left out.
  void add(const char* tag, const std::vector<Attribute>& attributes, const std::string& text = "");
  void text(double x, double y, const std::string& words, const Letters& letters = {});
  void box(double x, double y, double width, double height, const std::string& fill,
           const char* stroke = "", double radius = 0);
  void fill(const std::string& path, const char* color, double opacity = 1);
  void stroke(const std::string& path, const char* color, double width = 1,
              const char* dashes = "");
  const std::string& elements() const { return elements_; }
  std::string picture(double width, double height) const;   // a file: all elements, on white

 private:
  std::string elements_;
};

}  // namespace minbert
