// Figures: their numbers in the CSV file, and where the picture has them.
#include <doctest/doctest.h>

#include <cmath>
#include <regex>

#include "error_of.h"
#include "report/curves.h"
#include "report/figure.h"
#include "small_run.h"

namespace minbert::test {
namespace {

// The axes of a figure's first panel begin at (left, foot), and are 760 wide, a heat map 560, and 190 high.
struct Picture {
  explicit Picture(const Figure& figure) : svg(figure_svg(figure)) {
    std::smatch m;
    REQUIRE(std::regex_search(
        svg, m, std::regex(R"x(<path d="M([\d.]+) [\d.]+L\1 ([\d.]+)L([\d.]+) \2")x")));
    left = std::stod(m[1]), foot = std::stod(m[2]), width = std::stod(m[3]) - left;
  }
  // The points of the lines, bands and bars in this color, from 0 to 1 along both axes; {-1, -1}
  // where one begins.
  std::vector<std::pair<double, double>> points(const std::string& color,
                                                const std::string& attribute) const {
    std::vector<std::pair<double, double>> all;
    std::string path;                            // the last one: a legend stands before the panels
    const std::regex in_color("<path d=\"([^\"]*)\"[^>]* " + attribute + "=\"" + color);
    for (std::sregex_iterator i(svg.begin(), svg.end(), in_color), end; i != end; ++i)
      path = (*i)[1];
    const std::regex step(R"x(([ML])([-\d.]+) ([-\d.]+))x");
    for (std::sregex_iterator i(path.begin(), path.end(), step), end; i != end; ++i) {
      if ((*i)[1] == "M") all.push_back({-1, -1});
      const auto rounded = [](double v) { return std::round(v * 1000) / 1000; };
      all.push_back({rounded((std::stod((*i)[2]) - left) / width),
                     rounded((foot - std::stod((*i)[3])) / 190)});
    }
    return all;
  }
  bool says(const std::string& words) const { return contains(svg, ">" + words + "</text>"); }
  std::string svg;
  double left, foot, width;
};
using Points = std::vector<std::pair<double, double>>;
constexpr const char *first = "#0072B2", *second = "#D55E00";

Figure one_curve(const std::vector<double>& x, const std::vector<double>& y,
                 Curve::Style style = Curve::Style::line) {
  Curve curve{.title = "c", .x = x, .y = y, .style = style};
  return {.title = "T",
          .panels = {{.title = "P", .x_label = "x", .y_label = "y", .curves = {curve}}}};
}
Figure heat_map(const HeatMap& heat) {
  return {.title = "", .panels = {{.title = "H", .x_label = "x", .y_label = "y", .heat = heat}}};
}

}  // namespace

TEST_CASE("figure: values stand at their places, with round ticks, and undefined ones leave gaps") {
  // y from 0 to 10 and a twentieth on either side: 0 at 0.5 / 11
  const Picture linear(one_curve({0, 1, 2, 3, 4}, {0, 10, NAN, 5, INFINITY}));
  CHECK(linear.points(first, "stroke") ==
        Points{{-1, -1}, {0, 0.045}, {0.333, 0.955}, {-1, -1}, {1, 0.5}});
  for (const char* tick : {"0", "1", "3", "2", "10", "T", "P"}) CHECK(linear.says(tick));
  for (const char* none : {"0.5", "-2", "12", "5", "no values"}) CHECK_FALSE(linear.says(none));

  Figure figure = one_curve({1, 10, 100, 0}, {0.01, 1, 0, 1});
  figure.panels[0].log_x = figure.panels[0].log_y = true;            // neither axis has a 0
  const Picture logs(figure);
  CHECK(logs.points(first, "stroke") == Points{{-1, -1}, {0, 0.045}, {1, 0.955}});
  for (const char* tick : {"0.01", "0.1", "1", "2", "5", "10"}) CHECK(logs.says(tick));

  figure.panels[0].curves[0].y = {NAN, 0, -1, NAN};
  CHECK(Picture(figure).says("no values"));
  CHECK(contains(figure_svg({.title = "", .columns = 3, .panels = {{}, {}, {}, {}}}), "no values"));
  CHECK(contains(figure_svg({.title = "none"}), ">none</text>"));
}

TEST_CASE(
    "figure: deviations are bands around lines and marks on bars, and bars stand side by side on 0") {
  Figure figure = one_curve({0, 2}, {2, 4});
  figure.panels[0].curves[0].deviation = {2, 4};    // y from 0 to 8
  CHECK(Picture(figure).points(first, "fill") ==
        Points{{-1, -1}, {0, 0.5}, {1, 0.955}, {1, 0.045}, {0, 0.045}});
  figure.panels[0].log_y = true;                    // down to 0, which is not there: to the foot
  CHECK(Picture(figure).points(first, "fill").back() == std::pair(0.0, 0.0));

  figure = one_curve({0, 2}, {2, 4}, Curve::Style::line_and_points);
  figure.panels[0].curves[0].deviation = {2, 0};    // y from 0 to 4; a line, an error bar, points
  const Picture points(figure);
  CHECK(times(points.svg, "opacity=\"0.15\"") == 0);
  CHECK(contains(points.svg, "stroke-width=\"1.2\""));

  figure = one_curve({0, 1}, {2, 4}, Curve::Style::bars);
  Panel& panel = figure.panels[0];
  panel.x_names = {"a", "b, c"};
  panel.curves.push_back(
      {.title = "d", .x = {0, 1}, .y = {-4, 2}, .deviation = {0, 1}, .style = Curve::Style::bars});
  const Picture bars(figure);                    // x from -0.48 to 1.48, y from -4.4 to 4.4; a bar is 0.4 wide
  const Points c = bars.points(first, "fill"), d = bars.points(second, "fill");
  REQUIRE(c.size() == 10);
  CHECK(Points{c[1], c[2], c[3], c[4]} ==
        Points{{0.041, 0.5}, {0.041, 0.727}, {0.245, 0.727}, {0.245, 0.5}});
  CHECK(Points{d[1], d[2], d[3]} == Points{{0.245, 0.5}, {0.245, 0.045}, {0.449, 0.045}});
  CHECK(bars.points("#333", "stroke") == Points{{-1, -1}, {0.857, 0.614}, {0.857, 0.841}});
  CHECK(bars.says("b, c"));
}

TEST_CASE(
    "figure: panels that share their y axis have one range; a legend stands once where it is the same") {
  Figure figure{.title = "", .columns = 2, .shared_y = true};
  figure.panels.resize(2);
  figure.panels[0].curves = {{"a", {1, 2}, {0, 5}}, {"b", {1}, {1}}};
  figure.panels[1].curves = {{"a", {1, 2}, {10, 2}}, {"b", {1}, {1}}};
  const std::string svg = figure_svg(figure);
  CHECK(times(svg, ">a</text>") == 1);
  CHECK(times(svg, ">10</text>") == 2);
  figure.panels[1].curves[1].title = "e";
  CHECK(times(figure_svg(figure), ">a</text>") == 2);
  figure.panels[1].curves.pop_back();
  figure.shared_y = false;
  CHECK(times(figure_svg(figure), ">10</text>") == 1);
}

TEST_CASE("figure: a shared axis is that of panels with the same label; a color bar stands once a row") {
  Figure figure{.columns = 2, .shared_x = true};
  const auto panel = [](const char* label, double most) {
    return Panel{.x_label = label, .curves = {{"", {1, most}, {0, 1}}}};
  };
  figure.panels = {panel("step", 300), panel("epoch", 7), panel("step", 100), panel("epoch", 3)};
  const std::string svg = figure_svg(figure);
  CHECK(times(svg, ">300</text>") == 2);
  CHECK(times(svg, ">7</text>") == 2);
  figure.shared_x = false;
  CHECK(times(figure_svg(figure), ">300</text>") == 1);

  const auto bars = [](const Figure& maps) { return times(figure_svg(maps), "width=\"14\"") / 64; };
  Figure maps{.columns = 2};
  for (const double most : {1.0, 2.0, 3.0}) maps.panels.push_back({.heat = {.values = {{0, most}}}});
  CHECK(bars(maps) == 3);
  maps.shared_colors = true;
  CHECK(bars(maps) == 2);                           // two rows
  for (Panel& p : maps.panels) p.heat.color_bar = false;
  CHECK(bars(maps) == 0);
}

TEST_CASE("figure: a loss curve breaks where its task was not trained") {
  const SmallWorld folder;
  std::string steps = "step,task,loss\n";
  for (int step = 1; step <= 240; ++step)           // a: 40 steps, then 80 of b, twice
    steps += formatted("{},{},{}\n", step, (step - 1) % 120 < 40 ? "a" : "b", step);
  write_file(folder.path("steps.csv"), steps);
  const Curve a = loss_curve("a", {folder.path("")}, "a");
  REQUIRE(a.x.size() == 41);                        // windows of two, and the gap
  CHECK(a.x[0] == 1.5);
  CHECK(a.x[19] == 39.5);
  CHECK(std::isnan(a.x[20]));
  CHECK(a.x[21] == 121.5);
  CHECK(a.y[21] == 121.5);
  std::string mixed = "step,task,loss\n";           // rests of 2 and of 30, none of them long
  for (int step = 1; step <= 90; step += step % 3 ? 2 : 30) mixed += formatted("{},a,1\n", step);
  write_file(folder.path("steps.csv"), mixed);
  for (const double x : loss_curve("a", {folder.path("")}, "a").x) CHECK(std::isfinite(x));
}

TEST_CASE("figure: the texts of an axis do not stand upon each other") {
  Figure figure = one_curve({0.11, 0.95}, {1, 2});  // ticks from .2 to .9, ever closer
  figure.columns = 4;
  figure.panels[0].log_x = true;
  const Picture picture(figure);
  for (const char* tick : {"0.2", "0.3", "0.4", "0.6"}) CHECK(picture.says(tick));
  for (const char* tick : {"0.5", "0.9"}) CHECK_FALSE(picture.says(tick));
  figure.panels[0].curves[0].x = {0.0015, 0.6};     // a power of ten comes before its neighbours
  const Picture decades(figure);
  for (const char* tick : {"0.01", "0.1"}) CHECK(decades.says(tick));
  CHECK_FALSE(decades.says("0.005"));
}

TEST_CASE(
    "figure: the colors of a heat map span its values, or the range it is given") {
  const auto colors = [](const HeatMap& heat) {
    const std::string svg = figure_svg(heat_map(heat));
    std::vector<std::string> all;
    const std::regex cells(R"x(<path d="(M[^"]*)" stroke="(rgb[^"]*)")x");
    for (std::sregex_iterator i(svg.begin(), svg.end(), cells), end; i != end; ++i)
      all.push_back((*i)[1].str() + " " + (*i)[2].str());
    return all;
  };
  using Strings = std::vector<std::string>;
  CHECK(colors({.values = {{-1, NAN}, {4, 4}}}) ==
        Strings{"M0 0.5h1 rgb(255,255,255)", "M0 1.5h2 rgb(8,48,107)"});
  CHECK(colors({.values = {{1, 1}}, .min = 0, .max = 2}) == Strings{"M0 0.5h2 rgb(107,174,214)"});
  CHECK(contains(figure_svg(heat_map({.values = {{NAN}, {INFINITY}}})), "no values"));
  CHECK(contains(figure_svg(heat_map({.values = {{}, {}}})), "no values"));
  Matrix large(257, std::vector<double>(2, 1));  // three rows of it are one; the last has two
  large[0][1] = 4, large[1][1] = NAN, large[256][0] = 7;
  const std::vector<std::string> averaged = colors({.values = large});
  CHECK(averaged.front().starts_with("M0 0.5h1M"));
  CHECK(averaged.back() == "M0 85.5h1 rgb(8,48,107)");
}

TEST_CASE("figure: whatever a title holds is text") {
  Figure figure = one_curve({1, 2}, {3, 4});
  const std::string hostile = "it's \"q\" <b>&amp;\n\x01 é";
  figure.title = figure.panels[0].title = figure.panels[0].x_label = figure.panels[0].y_label =
      hostile;
  figure.panels[0].x_names = {"", hostile};
  figure.panels[0].curves.push_back({hostile, {1, 2}, {4, 5}});
  const std::string svg = figure_svg(figure);
  CHECK(times(svg, ">it's &quot;q&quot; &lt;b&gt;&amp;amp;   é</text>") == 6);
  CHECK(times(svg, "<b>") == 0);
}

TEST_CASE(
    "figure: what is awkward is drawn, too: one value, constants, huge and tiny ones, many curves") {
  const auto draws = [](const char* name, const Figure& figure) {
    CAPTURE(name);
    const std::string svg = figure_svg(figure);
    for (const char* none : {"nan", "inf"}) CHECK(times(svg, none) == 0);
    CHECK(svg.size() < 100'000);
    CHECK(svg.ends_with("</svg>\n"));
  };
  draws("one point", one_curve({0}, {0}));
  draws("constant", one_curve({1, 2, 3}, {1e30, 1e30, 1e30}));
  draws("nearly constant", one_curve({1, 2}, {1, 1 + 1e-15}));
  draws("large and small", one_curve({1e-300, 1e300}, {-1e30, 1e-30}));
  Figure many = one_curve({}, {});
  for (int i = 0; i < 40; ++i)
    many.panels[0].curves.push_back({.title = std::to_string(i),
                                     .x = {0, 1, 2},
                                     .y = {0.5, NAN, 1.0 * i},
                                     .deviation = {1, 0, 2},
                                     .style = Curve::Style(i % 4)});
  draws("many", many);
  many.panels[0].log_y = many.panels[0].log_x = true;
  draws("many logarithms", many);
  many.panels[0].curves = {log_histogram({0, 0}, 3)};
  draws("zeros on a logarithm", many);
  draws("one cell", heat_map({.values = {{1}}}));
  draws("many cells",
        heat_map({.values = Matrix(1000, std::vector<double>(300, 1e-9)), .min = -1e9}));
}

TEST_CASE("figure: a histogram on a logarithmic axis counts what is finite and above 0") {
  const Curve log = log_histogram({0, 1e-4, 1e-3, 0.5, 0, 1, NAN, INFINITY}, 2);
  CHECK(log.x[1] == doctest::Approx(0.1));
  CHECK(log.y == std::vector<double>{2, 2});
  CHECK(log_histogram({3, 3}, 1).x[0] == doctest::Approx(3));
  CHECK(log_histogram({}, 3).x.empty());
  CHECK(log_histogram({1e-3}, 2, {1e-4, 1e-3, 1}).x == log.x);
}

TEST_CASE("figure: the CSV file has every number of the curves; errors name panel and curve") {
  const SmallWorld folder;
  Figure figure = one_curve({0, 1, 1234567}, {0.5, NAN, 1e-7});
  figure.panels.push_back({.title = "a, \"b\"", .x_label = "x", .y_label = "y"});
  figure.panels[1].curves = {{.title = "with\ndeviation", .x = {3}, .y = {4}, .deviation = {0.25}},
                             {"empty", {}, {}}};
  write_figure(folder.path("new/figure"), figure);
  CHECK(read_file(folder.path("new/figure.svg")) == figure_svg(figure));
  CHECK(read_file(folder.path("new/figure.csv")) ==
        "panel,curve,x,y,deviation\nP,c,0,0.5,\nP,c,1,,\nP,c,1234567,1e-07,\n"
        "\"a, \"\"b\"\"\",\"with\ndeviation\",3,4,0.25\n");

  const auto error = [&](const Figure& wrong) {
    return error_of([&] { write_figure(folder.path("wrong"), wrong); });
  };
  figure.panels[0].curves[0].y.pop_back();
  CHECK(contains(error(figure),
                 "curve \"c\" of panel \"P\" has 3 values of x, 2 of y and 0 deviations"));
  Figure heat = heat_map({.values = {{1, NAN}, {3, 4}}});
  heat.panels[0].curves = {{"c", {1}, {2}}};
  CHECK(contains(error(heat), "panel \"H\" has curves and a heat map"));
  heat.panels[0].curves.clear();
  heat.panels[0].heat.values[1].push_back(5);
  CHECK(
      contains(error(heat), "in the heat map of panel \"H\", row 1 has 3 values and row 0 has 2"));
  CHECK_FALSE(std::filesystem::exists(folder.path("wrong.csv")));
}

}  // namespace minbert::test
