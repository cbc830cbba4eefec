// examples/drawings.cpp: the pictures that README and walks show are what it draws.
#include <doctest/doctest.h>

#define main drawings_program                       // not called from here
#include "../examples/drawings.cpp"
#undef main
#include <sstream>

#include "golden_file.h"
#include "shown.h"

namespace minbert::test {

TEST_CASE("drawings: the pictures in examples/drawings are what the program draws") {
  if (default_device() == Device::cuda) return;     // whose sums have another order
  for (const auto& [name, draw] : drawings::all) {
    INFO(name << ": build/bin/drawings --out examples/drawings draws it again");
    std::istringstream shown(read_file(repository(formatted("examples/drawings/{}.svg", name)))), drawn(draw());
    for (std::string line, expected; std::getline(drawn, line);) {
      std::getline(shown, expected);
      CHECK(line == expected);
    }
    CHECK(shown.peek() == EOF);
  }
}

TEST_CASE("drawings: a number is shown with two digits, without a sign where it is 0") {
  CHECK(drawings::short_text(-0.0, 2) == "0");
  CHECK(drawings::short_text(0.6661, 2) == "0.67");
  CHECK(drawings::short_text(-1.44e-9, 2) == "-1.4e-09");
  CHECK(drawings::grouped(16) == "16");
  CHECK(drawings::grouped(839303) == "839,303");
  CHECK(drawings::grouped(1048576) == "1,048,576");
}

}  // namespace minbert::test
