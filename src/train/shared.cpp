// Small things that the training loops share.
#include "shared.h"

#include <chrono>
#include <cmath>
#include <iomanip>
#include <sstream>

namespace minbert {

void check_finite(const Parameters& parameters, int64_t step, const std::string& advice) {
  for (const Parameters::Item& item : parameters.items())
    for (int64_t i = 0; i < item.value.size(); ++i)
      MB_CHECK(std::isfinite(item.value.data()[i]), "{} is {} after step {}\n  {}", item.name, item.value.data()[i],
               step, advice);
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
