// Figures: their numbers, what gnuplot is told, and what happens without it.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>

#include "error_of.h"
#include "report/figure.h"
#include "small_run.h"

namespace minbert::test {
namespace {

// A folder for figures. While it lives, programs may be looked for somewhere else.
class Folder {
 public:
  Folder() : path_(getenv("PATH") ? getenv("PATH") : "") { std::filesystem::create_directories(root_); }
  ~Folder() {
    search_programs_in(path_);
    std::filesystem::remove_all(root_);
  }
  void search_programs_in(const std::string& path) { setenv("PATH", path.c_str(), 1); }
  std::string path(const std::string& name = "") const { return (root_ / name).string(); }
  bool has(const std::string& name) const { return std::filesystem::exists(root_ / name); }

 private:
  std::filesystem::path root_ = std::filesystem::temp_directory_path() / formatted("minbert_figures_{}", getpid());
  std::string path_;
};

bool gnuplot_is_installed() {
  const bool found = std::system("command -v gnuplot >/dev/null") == 0;
  if (!found) MESSAGE("gnuplot: not run (not installed)");
  return found;
}

constexpr const char* hostile = "it's \"q\" \\n a_b^2 {/Bold x} 50% $x @y <&> `touch hacked`\n!touch hacked\n# é";

Figure one_curve(const std::vector<double>& x, const std::vector<double>& y) {
  return {.title = "T", .panels = {{.title = "P", .x_label = "x", .y_label = "y", .curves = {{"c", x, y}}}}};
}

Figure heat_map(const HeatMap& heat) {
  return {.title = "", .panels = {{.title = "H", .x_label = "x", .y_label = "y", .heat = heat}}};
}

}  // namespace

TEST_CASE("figure: the CSV file has every number, quotes what it must, and leaves out what is not finite") {
  const Folder folder;
  Figure figure = one_curve({1, 2, 1234567}, {0.5, NAN, 1e-7});
  figure.panels.push_back({.title = "a, \"b\"", .x_label = "x", .y_label = "y"});
  figure.panels[1].curves = {{.title = "with\ndeviation", .x = {3}, .y = {4}, .deviation = {0.25}}, {"empty", {}, {}}};
  write_figure(folder.path("new/folder/figure"), figure);
  CHECK(read_file(folder.path("new/folder/figure.csv")) ==
        "panel,curve,x,y,deviation\nP,c,1,0.5,\nP,c,2,,\nP,c,1234567,1e-07,\n"
        "\"a, \"\"b\"\"\",\"with\ndeviation\",3,4,0.25\n");

  figure.panels[0].curves[0].y.pop_back();
  CHECK_THROWS_WITH_AS(write_figure(folder.path("wrong"), figure),
                       doctest::Contains("curve \"c\" of panel \"P\" has 3 values of x, 2 of y and 0 deviations"),
                       Error);
}

TEST_CASE("figure: the CSV file of bars has the names of the axis, and a histogram counts zeros apart") {
  const Folder folder;
  Figure figure = one_curve({0, 1, 2}, {0.5, 0.25, 4});
  figure.panels[0].curves[0].style = Curve::Style::bars;
  figure.panels[0].x_names = {"layer", "a, b"};
  write_figure(folder.path("bars"), figure);
  CHECK(read_file(folder.path("bars.csv")) ==
        "panel,curve,x,y,deviation\nP,c,layer,0.5,\nP,c,\"a, b\",0.25,\nP,c,2,4,\n");

  const Curve linear = histogram("h", {0, 0.5, 1, 3, 4, NAN, INFINITY}, 4);
  CHECK(linear.x == std::vector<double>{0.5, 1.5, 2.5, 3.5});
  CHECK(linear.y == std::vector<double>{2, 1, 0, 2});
  CHECK(histogram("h", {-9, 0.5, 1, 9}, 2, false, 0, 2).y == std::vector<double>{2, 2});
  const Curve log = histogram("h", {0, 1e-9, 1e-3, 0.5, 0, 7}, 2, true, 1e-4, 1);
  CHECK(log.x[0] == 0);
  CHECK(log.x[1] == doctest::Approx(1e-3));
  CHECK(log.x[2] == doctest::Approx(0.1));
  CHECK(log.y == std::vector<double>{2, 2, 2});
  CHECK(histogram("h", {3, 3}, 1, true).x[0] == doctest::Approx(3));
  CHECK(histogram("h", {}, 3).x.empty());
  CHECK(histogram("h", {0, NAN}, 3, true).y == std::vector<double>{1});
  CHECK_THROWS_WITH_AS(histogram("h", {1}, 0), doctest::Contains("0 bins"), Error);
  CHECK_THROWS_WITH_AS(histogram("h", {1}, 9, true, 0, 1), doctest::Contains("9 bins from 0 to 1"), Error);

  Figure logarithmic = one_curve({}, {});
  logarithmic.panels[0].log_x = true;
  logarithmic.panels[0].curves = {log};
  const std::string script = gnuplot_script(logarithmic);
  CHECK(times(script, "'x   at 0: h 2'") == 1);
  CHECK(times(script, "with boxxyerror") == 1);
}

TEST_CASE("figure: the CSV file of heat maps has a row for every cell, and means where a side is above 128") {
  const Folder folder;
  Figure figure = heat_map({.values = {{1, NAN}, {3, 4}}});
  figure.panels[0].y_names = {"first", "second"};
  write_figure(folder.path("heat"), figure);
  const std::string rows = "H,first,0,1\nH,first,1,\nH,second,0,3\nH,second,1,4\n";
  CHECK(read_file(folder.path("heat.csv")) == "panel,row,column,value\n" + rows);

  figure.panels.push_back(one_curve({1}, {2}).panels[0]);
  write_figure(folder.path("mixed"), figure);
  CHECK(read_file(folder.path("mixed.csv")) == "panel,curve,x,y,deviation\nH,first,0,1,\nH,first,1,,\nH,second,0,3,\n"
                                               "H,second,1,4,\nP,c,1,2,\n");

  Matrix large(257, std::vector<double>(2, 1));
  large[0][1] = 4, large[1][1] = NAN, large[256][0] = 7;
  const Matrix image = heat_image(heat_map({.values = large}).panels[0]);
  CHECK(image.size() == 86);
  CHECK(image[0] == std::vector<double>{1, 2.5});
  CHECK(image[85][0] == 4);                        // the last block has two rows
  write_figure(folder.path("large"), heat_map({.values = large}));
  CHECK(times(read_file(folder.path("large.csv")), "\nH,255,1,1\n") == 1);
}

TEST_CASE("figure: a heat map whose rows differ in length, or which has curves beside it, is an error") {
  const Folder folder;
  Figure figure = one_curve({1}, {2});
  figure.panels[0].heat.values = {{1, 2}, {3, 4}};
  CHECK_THROWS_WITH_AS(write_figure(folder.path("both"), figure), doctest::Contains("has curves and a heat map"),
                       Error);
  figure.panels[0].curves.clear();
  figure.panels[0].heat.values[1].push_back(5);
  const auto message = doctest::Contains("in the heat map of panel \"P\", row 1 has 3 values and row 0 has 2");
  CHECK_THROWS_WITH_AS(write_figure(folder.path("rows"), figure), message, Error);
  CHECK_THROWS_WITH_AS(gnuplot_script(figure), message, Error);
  CHECK_FALSE(folder.has("rows.csv"));
}

TEST_CASE("figure: the colors of a heat map span its values, the range it is given, or both sides of 0") {
  Figure figure = heat_map({.values = {{-1, NAN}, {3, 4}}});
  HeatMap& heat = figure.panels[0].heat;
  CHECK(times(gnuplot_script(figure), "\n-1 NaN\n3 4\n") == 1);
  CHECK(times(gnuplot_script(figure), "set cbrange [-1:4]\nset palette defined (0 '#ffffff'") == 1);
  CHECK(times(gnuplot_script(figure), "with image pixels") == 1);
  heat.diverging = true;
  CHECK(times(gnuplot_script(figure), "set cbrange [-4:4]") == 1);
  CHECK(times(gnuplot_script(figure), "2 '#ffffff'") == 1);
  heat = {.values = {{1, 1}}, .min = 0};
  CHECK(times(gnuplot_script(figure), "set cbrange [0:1]") == 1);
  heat = {.values = {{NAN}, {INFINITY}}};
  CHECK(times(gnuplot_script(figure), "'no values'") == 1);
  heat.values = {{}, {}};
  CHECK(times(gnuplot_script(figure), "'no values'") == 1);
}

TEST_CASE("figure: whatever a title holds, gnuplot takes it for a title") {
  Figure figure = one_curve({1, 2}, {3, 4});
  figure.title = figure.panels[0].title = figure.panels[0].x_label = figure.panels[0].y_label = hostile;
  figure.panels[0].x_names = {hostile};
  figure.panels[0].curves.push_back({hostile, {1, 2}, {4, 5}});
  const std::string script = gnuplot_script(figure);
  CHECK(times(script, "'it''s \"q\" \\n a_b^2 {/Bold x} 50% $x @y <&> `touch hacked` !touch hacked # é'") == 7);
  for (const char* command : {"\n!", "\n#", "it's"}) CHECK(times(script, command) == 0);
  CHECK(times(script, " noenhanced ") == 1);

  if (!gnuplot_is_installed()) return;
  const Folder folder;
  const std::string stem = folder.path("a 'b' \"c\" $d `touch hacked` \\n %s");
  write_figure(stem, figure);
  const std::string picture = read_file(stem + ".svg");
  CHECK(times(picture, "it's \"q\" \\n a_b^2 {/Bold x} 50% $x @y &lt;&amp;> `touch hacked` !touch hacked # é") >= 5);
  CHECK_FALSE(std::filesystem::exists("hacked"));
  CHECK_FALSE(folder.has("hacked"));
}

TEST_CASE("figure: a legend stands where there are two curves, and once where all panels have the same") {
  Figure figure = one_curve({1, 2}, {3, 4});
  CHECK(times(gnuplot_script(figure), "\nset key") == 0);
  figure.panels[0].curves.push_back({"d", {1, 2}, {4, 5}});
  figure.panels.push_back(figure.panels[0]);
  CHECK(times(gnuplot_script(figure), "\nset key") == 1);
  figure.panels[1].curves[1].title = "e";
  CHECK(times(gnuplot_script(figure), "\nset key") == 2);
}

TEST_CASE("figure: panels that share their y axis have one range, of all values and deviations") {
  Figure figure{.title = "", .columns = 2, .shared_y = true};
  figure.panels.resize(2);
  figure.panels[0].curves = {{.title = "a", .x = {1, 2}, .y = {3, 5}, .deviation = {1, 1}}};
  figure.panels[1].curves = {{.title = "a", .x = {1, 2}, .y = {12, NAN}}};
  CHECK(times(gnuplot_script(figure), "set yrange [1.5:12.5]\n") == 2);     // 2 to 12, and a twentieth on either side
  for (Panel& panel : figure.panels) panel.log_y = true;
  figure.panels[0].curves[0].deviation = {4, 1};    // down to -1, which a logarithmic axis does not have
  CHECK(times(gnuplot_script(figure), "(2, 5, 10, 20)\n") == 2);
  CHECK(times(gnuplot_script(figure), "set yrange [2:20]\n") == 2);
  figure.shared_y = false;
  CHECK(times(gnuplot_script(figure), "set yrange") == 0);
}

TEST_CASE("figure: gnuplot draws what is awkward: nothing, one point, constants, gaps, logarithms, many curves") {
  if (!gnuplot_is_installed()) return;
  const Folder folder;
  const auto draws = [&](const char* name, const Figure& figure) {
    INFO(name);
    const Quiet quiet;
    write_figure(folder.path(name), figure);
    CHECK(quiet.text() == "");
    CHECK(folder.has(std::string(name) + ".svg"));
  };
  draws("no-panels", {});
  draws("no-curves", {.title = "", .columns = 3, .panels = {{}, {}, {}, {}}});
  draws("no-points", one_curve({}, {}));
  draws("not-finite", one_curve({1, 2}, {NAN, INFINITY}));
  draws("one-point", one_curve({0}, {0}));
  draws("constant", one_curve({1, 2, 3}, {1, 1, 1}));
  draws("large-and-small", one_curve({1e-300, 1e300}, {-1e30, 1e-30}));
  Figure logarithms = one_curve({-1, 0, 1, 10}, {1, 1, 0, -1});
  logarithms.panels[0].log_x = logarithms.panels[0].log_y = true;
  draws("logarithms-of-nothing", logarithms);
  logarithms.panels[0].curves[0].y = {1, 1, 1, 1};
  draws("logarithms", logarithms);
  Figure many = one_curve({}, {});
  for (int i = 0; i < 40; ++i)
    many.panels[0].curves.push_back({.title = std::to_string(i), .x = {0, 1, 2}, .y = {0.5, NAN, 1.0 * i},
                                     .deviation = {1, 0, 2}, .style = Curve::Style(i % 4)});
  draws("many", many);
  many.panels[0].log_y = many.panels[0].log_x = true;
  draws("many-logarithms", many);
  logarithms.panels[0].curves = {histogram("", {0, 0}, 3, true)};
  draws("zeros-on-a-logarithm", logarithms);
  const auto draws_heat = [&](const char* name, const HeatMap& heat) {
    draws(name, {.title = "", .columns = 2, .panels = {heat_map(heat).panels[0], one_curve({1}, {3}).panels[0]}});
  };
  draws_heat("no-columns", {.values = {{}}});
  draws_heat("one-cell", {.values = {{1}}});
  draws_heat("one-row", {.values = {{1, NAN, -1}}, .diverging = true});
  draws_heat("one-column", {.values = {{0}, {0}}});
  draws_heat("all-nan", {.values = {{NAN, NAN}, {NAN, NAN}}});
  draws_heat("large", {.values = Matrix(1000, std::vector<double>(300, 1e-9)), .min = -1e9});
  CHECK(read_file(folder.path("large.svg")).size() < 100'000);
}

TEST_CASE("figure: without gnuplot, or when it fails, the CSV is there and one message says why no picture is") {
  Folder folder;
  const Figure figure = one_curve({1, 2}, {3, 4});
  folder.search_programs_in(folder.path());
  write_file(folder.path("a.svg"), "of an older run");
  {
    const Quiet quiet;
    write_figure(folder.path("a"), figure);
    write_figure(folder.path("b"), figure);
    CHECK(times(quiet.text(), "gnuplot is not installed") <= 1);     // 0: another test met the same, and it was said
    CHECK(times(quiet.text(), "gnuplot is not installed") == times(quiet.text(), "apt-get install gnuplot-nox"));
  }
  CHECK(folder.has("a.csv"));
  CHECK_FALSE(folder.has("a.svg"));
  CHECK(folder.has("b.csv"));

  write_file(folder.path("gnuplot"), "#!/bin/sh\necho 'out of ink' >&2\nexit 3\n");
  chmod(folder.path("gnuplot").c_str(), 0755);
  const Quiet quiet;
  write_figure(folder.path("c"), figure);
  write_figure(folder.path("d"), figure);
  CHECK(times(quiet.text(), "c.csv has the figure's numbers, but there is no picture: gnuplot failed: out of") == 1);
  CHECK(times(quiet.text(), "out of ink") == 1);
  CHECK(folder.has("d.csv"));
  CHECK_FALSE(folder.has("d.svg"));
}

}  // namespace minbert::test
