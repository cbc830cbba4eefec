// The default device and the precision of its products.
#include "minbert/device.h"

#include <algorithm>

#include "engine/cuda.h"

namespace minbert {
namespace {
Device device = Device::cpu;
Precision precision = Precision::tf32;

// Where in the list the name stands. unknown: the message where it does not.
int place_of(const std::string& name, const std::vector<std::string>& names, const char* unknown) {
  const auto at = std::find(names.begin(), names.end(), name);
  MB_CHECK(at != names.end(), unknown, name);
  return int(at - names.begin());
}

}  // namespace

const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names = {"cpu", "cuda"};
  return names;
}
const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names = {"fp32", "tf32", "bf16"};
  return names;
}

Device default_device() { return device; }

void set_default_device(const std::string& name) {
  const Device chosen = Device(place_of(name, device_names(), "there is no device \"{}\"; the devices are: cpu, cuda"));
  if (chosen == Device::cuda) cuda::require();
  device = chosen;
}

std::string device_text() {
  if (device == Device::cpu) return "cpu";
  return format("cuda: {}; matrix products in {}", cuda::describe(),
                sizeof(real) == sizeof(double) ? "double" : precision_names()[size_t(precision)]);
}

Precision matmul_precision() { return precision; }
ExactProducts::ExactProducts() : outer_(precision) { precision = Precision::fp32; }
ExactProducts::~ExactProducts() { precision = outer_; }

void set_matmul_precision(const std::string& name) {
  precision = Precision(place_of(name, precision_names(), "there is no precision \"{}\" of matrix products; there are: "
                                                          "fp32, tf32, bf16"));
}

}  // namespace minbert
