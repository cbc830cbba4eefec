// Small things that the training loops share.
#include "shared.h"

#include <chrono>
#include <iomanip>
#include <sstream>

namespace minbert {

void check_finite(const Parameters& parameters, const Optimizer& optimizer, int64_t step, const std::string& advice) {
  std::vector<real> room;
  const auto check = [&](const std::string& name, const Tensor& values) {
    if (const auto v = non_finite(values.on_host(room)))
      fail(format("{} has the value {} after step {}\n  {}", name, *v, step, advice));
  };
  for (const Parameters::Item& item : parameters.all()) check(item.name, item.value);
  for (const auto& [name, values] : optimizer.moments()) check("optimizer." + name, values);
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
