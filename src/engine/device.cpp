// The default device and the precision of its products.
#include "minbert/device.h"

#include "engine/cuda.h"

namespace minbert {
namespace {
Device device = Device::cpu;
Precision precision = Precision::tf32;
constexpr const char* names[] = {"fp32", "tf32", "bf16"};
}  // namespace

Device default_device() { return device; }

void set_default_device(const std::string& name) {
  MB_CHECK(name == "cpu" || name == "cuda", "there is no device \"{}\"; the devices are: cpu, cuda", name);
  if (name == "cuda") cuda::require();
  device = name == "cuda" ? Device::cuda : Device::cpu;
}

std::string device_text() {
  if (device == Device::cpu) return "cpu";
  return format("cuda: {}; matrix products in {}", cuda::describe(),
                sizeof(real) == sizeof(double) ? "double" : names[int(precision)]);
}

Precision matmul_precision() { return precision; }
ExactProducts::ExactProducts() : outer_(precision) { precision = Precision::fp32; }
ExactProducts::~ExactProducts() { precision = outer_; }

void set_matmul_precision(const std::string& name) {
  for (int i = 0; i < 3; ++i)
    if (name == names[i]) {
      precision = Precision(i);
      return;
    }
  fail(format("there is no precision \"{}\" of matrix products; there are: fp32, tf32, bf16", name));
}

}  // namespace minbert
