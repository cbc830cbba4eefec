// The types of the values in a safetensors file: their widths, and the two of 16 bits: F16 (IEEE's,
// the compiler's _Float16) and BF16 (the upper half of a float).
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace minbert {

// Bytes of a value; 0 if the type is unknown.
inline uint64_t width(std::string_view type) {
  return type.ends_with("64")   ? 8
         : type.ends_with("32") ? 4
         : type.ends_with("16") ? 2
                                : type == "BOOL";
}

inline float from_bf16(uint16_t h) { return std::bit_cast<float>(uint32_t(h) << 16); }
inline float from_f16(uint16_t h) { return float(std::bit_cast<_Float16>(h)); }
inline uint16_t to_f16(double x) { return std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }

}  // namespace minbert
