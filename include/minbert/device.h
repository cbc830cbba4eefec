// Devices, and the precision of matrix products.
#pragma once

#include <string>

#include "minbert/error.h"

namespace minbert {

enum class Device { cpu, cuda };

// The device of new tensors if none is given; cpu at first. Operations run where their inputs are.
Device default_device();
// Error for cuda if no GPU can be used: it says what was looked for.
void set_default_device(Device device);
std::string device_text();                        // a description of the default device, for a log

// The bits of the fraction that are used of a product's operands (a float has 23); sums are always
// in float. On a GPU attention over sentences of different lengths is in fp32. On the CPU tf32 is
// fp32, and bf16 has the large products alone, where the processor has AVX512-BF16 or AMX.
enum class Precision { fp32, tf32, bf16 };          // all 23 bits; 10 bits; 7 bits
Precision matmul_precision();                       // tf32 at first
// Error for bf16 where the default device has none.
void set_matmul_precision(Precision precision);
// While it lives, products are in fp32: for covariances, small differences of large sums.
class ExactProducts {
 public:
  ExactProducts();

 private:
  While<Precision> fp32_;
};

}  // namespace minbert
