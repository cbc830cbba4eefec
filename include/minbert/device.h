// Devices, and how exact matrix products are on a GPU.
#pragma once

#include <string>
#include <vector>

namespace minbert {

enum class Device { cpu, cuda };

// Where tensors are made that are not told where: cpu at first. An operation works where its inputs are.
Device default_device();
const std::vector<std::string>& device_names();     // cpu, cuda
// By its name, as --device says. Error for "cuda" where no GPU can be used: it says what was looked for.
void set_default_device(const std::string& name);
std::string device_text();                          // what the default device is, for a log

// How many bits of the fraction of a product's operands a GPU uses (a float has 23); it always adds in float.
// Attention's products are in tf32 with bf16, too. On the CPU always fp32.
enum class Precision { fp32, tf32, bf16 };          // all 23 bits; 10 bits; 7 bits
const std::vector<std::string>& precision_names();  // in the enum's order
Precision matmul_precision();                       // tf32 at first
void set_matmul_precision(const std::string& name); // Error lists the names
// While it lives, products are in fp32: for covariances, whose small entries are differences of large sums.
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
