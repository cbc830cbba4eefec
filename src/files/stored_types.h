// The types of the values in a safetensors file: their widths, and the two of 16 bits: F16 (1 sign,
// 5 exponent, 10 mantissa bits) and BF16 (the upper half of a float). _Float16 would do for F16,
// but g++ 12 on arm64 and clang++ 14 do not have it in C++.
#pragma once

#include <bit>
#include <cmath>
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

// Shifts exponent and mantissa to those of a float; multiplying by 2^(127-15) corrects the
// exponent's bias, also for subnormal numbers. Infinity and NaN have all exponent bits set, in both
// formats.
inline float from_f16(uint16_t h) {
  const uint32_t magnitude = uint32_t(h & 0x7fff) << 13, sign = uint32_t(h & 0x8000) << 16;
  const uint32_t value = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  return std::bit_cast<float>(sign | ((h & 0x7c00) == 0x7c00 ? magnitude | 0x7f800000 : value));
}

// To the nearest, ties to even. With e = max(exponent of x, -14), the value is m 2^(e-10) with an
// integer m <= 2048, and the bits are (e+14) 2^10 + m: m = 2048 carries into the exponent.
inline uint16_t to_f16(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (std::isnan(x)) return sign | 0x7e00;
  if (x >= 65520) return sign | 0x7c00;      // half way from the largest to the next power of two
  const int exponent = int(std::bit_cast<uint64_t>(x) >> 52) - 1023;
  const int e = exponent > -14 ? exponent : -14;
  const double scale = std::bit_cast<double>(uint64_t(1023 + 10 - e) << 52);
  return uint16_t(sign | (((e + 14) << 10) + int(std::nearbyint(x * scale))));
}

}  // namespace minbert
