// Devices, and how exact matrix products are on a GPU.
#pragma once

#include <string>

namespace minbert {

enum class Device { cpu, cuda };

// Where tensors are made that are not told where: cpu at first. An operation works where its inputs are.
Device default_device();
// "cpu" or "cuda", as --device says. Error for "cuda" where no GPU can be used: it says what was looked for.
void set_default_device(const std::string& name);
std::string device_text();                          // what the default device is, for a log

// Of operands of a product on a GPU, how many bits of the fraction count (float's are 23); sums are in float. On the
// CPU always fp32.
enum class Precision { fp32, tf32, bf16 };          // all 23 bits; 10 bits; 7 bits
Precision matmul_precision();                       // tf32 at first
void set_matmul_precision(const std::string& name); // Error lists the names
// While it lives, products are exact: for statistics, of which differences of large numbers are taken.
class ExactProducts {
 public:
  ExactProducts();
  ~ExactProducts();
  ExactProducts(const ExactProducts&) = delete;
  ExactProducts& operator=(const ExactProducts&) = delete;

 private:
  Precision outer_;
};

}  // namespace minbert
