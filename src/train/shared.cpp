// Small things that the training loops share.
#include "shared.h"

#include <chrono>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace minbert {

void check_finite(const Parameters& parameters, int64_t step, const std::string& advice) {
  std::vector<real> room;
  for (const Parameters::Item& item : parameters.items())
    for (const real v : item.value.on_host(room))
      MB_CHECK(std::isfinite(v), "{} is {} after step {}\n  {}", item.name, v, step, advice);
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string fixed(double v, int digits) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(digits) << v;
  return out.str();
}
std::string exact(double v) {
  std::ostringstream out;
  out << std::setprecision(9) << v;
  return out.str();
}

}  // namespace minbert
