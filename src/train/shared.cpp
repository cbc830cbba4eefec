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

void LossReader::add(std::vector<Tensor> losses, Then then) {
  const size_t enough = losses[0].device() == Device::cuda ? 20 : 1;
  waiting_.emplace_back(std::move(losses), std::move(then));
  if (waiting_.size() >= enough) flush();
}

void LossReader::flush() {
  const auto list = std::exchange(waiting_, {});    // empty, whatever a `then` throws
  for (const auto& [losses, then] : list) {
    std::vector<double> values;
    for (const Tensor& loss : losses) values.push_back(double(loss.item()));
    then(values);
  }
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
