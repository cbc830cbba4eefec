// A fingerprint of bytes.
#include "files/fingerprint.h"

#include <algorithm>
#include <cstring>

namespace minbert {

// Eight bytes at a time. Every round is a bijection of h, so that one changed word always changes
// the result.
uint64_t fingerprint(std::span<const std::byte> bytes, uint64_t h) {
  const auto mix = [&](uint64_t word) {
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  };
  mix(bytes.size());
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[i], std::min(sizeof word, bytes.size() - i));
    mix(word);
  }
  return h;
}

std::string fingerprint_text(std::string_view bytes) {
  const uint64_t h = fingerprint(bytes, 0);
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[h >> shift & 15];
  return digits;
}

}  // namespace minbert
