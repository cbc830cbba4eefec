// The default device and the precision of its products.
#include "minbert/device.h"

#include "engine/cuda.h"
#include "engine/gemm/bf16_gemm.h"
#include "minbert/choice.h"

namespace minbert {
namespace {
Device device = Device::cpu;
Precision precision = Precision::tf32;
}  // namespace

Device default_device() { return device; }

void set_default_device(Device chosen) {
  if (chosen == Device::cuda) cuda::require();
  device = chosen;
}

std::string device_text() {
  if (device == Device::cpu)
    return precision == Precision::bf16
               ? formatted("cpu; matrix products in bf16, by {}", bf16_instructions())
               : "cpu";
  const bool in_double = sizeof(real) == sizeof(double);
  return formatted("cuda: {}; matrix products in {}", cuda::describe(),
                   in_double ? "double" : name_of(precision));
}

Precision matmul_precision() { return precision; }
ExactProducts::ExactProducts() : fp32_(precision, Precision::fp32) {}

void set_matmul_precision(Precision chosen) {
  MB_CHECK(chosen != Precision::bf16 || device != Device::cpu || !bf16_instructions().empty(),
           "--matmul bf16: this {} has no such products; it needs a processor with AVX512-BF16, or "
           "AMX that the system allows, and the build in float. Leave --matmul out",
           sizeof(real) == sizeof(double) ? "build, in double," : "processor");
  precision = chosen;
}

}  // namespace minbert
