// The default device and the precision of its products.
#include "minbert/device.h"

#include "engine/cuda.h"
#include "engine/names.h"

namespace minbert {
namespace {
Device device = Device::cpu;
Precision precision = Precision::tf32;
}  // namespace

Device default_device() { return device; }

void set_default_device(const std::string& name) {
  const Device chosen = Device(index_of(name, device_names, "device"));
  if (chosen == Device::cuda) cuda::require();
  device = chosen;
}

std::string device_text() {
  if (device == Device::cpu) return "cpu";
  const bool in_double = sizeof(real) == sizeof(double);
  return formatted("cuda: {}; matrix products in {}", cuda::describe(),
                   in_double ? "double" : precision_names[size_t(precision)]);
}

Precision matmul_precision() { return precision; }
ExactProducts::ExactProducts() : outer_(precision) { precision = Precision::fp32; }
ExactProducts::~ExactProducts() { precision = outer_; }

void set_matmul_precision(const std::string& name) {
  precision = Precision(index_of(name, precision_names, "precision"));
}

}  // namespace minbert
