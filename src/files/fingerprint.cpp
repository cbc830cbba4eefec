// A fingerprint of bytes.
#include "files/fingerprint.h"

#include <algorithm>
#include <cstring>

#include "minbert/files.h"

namespace minbert {

namespace {

// Eight bytes at a time. Every round is a bijection of h, so that one changed word always changes
// the result.
uint64_t mixed(uint64_t h, uint64_t word) {
  h = (h ^ word) * 0x9e3779b97f4a7c15u;
  return h ^ h >> 29;
}

uint64_t mixed(uint64_t h, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, &bytes[i], std::min(sizeof word, bytes.size() - i));
    h = mixed(h, word);
  }
  return h;
}

std::string hexadecimal(uint64_t h) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[h >> shift & 15];
  return digits;
}

}  // namespace

uint64_t fingerprint(std::span<const std::byte> bytes, uint64_t h) {
  return mixed(mixed(h, uint64_t(bytes.size())), bytes);
}

std::string fingerprint_text(std::string_view bytes) { return hexadecimal(fingerprint(bytes, 0)); }

std::string file_fingerprint(const std::string& file) {
  if (file_size(file) == 0) return fingerprint_text(read_file(file));
  constexpr uint64_t block = 1 << 22;
  const InputFile in(file);
  uint64_t h = mixed(0, in.size());
  for (uint64_t begin = 0; begin < in.size(); begin += block) {
    const std::string bytes = in.text(begin, size_t(std::min(block, in.size() - begin)));
    h = mixed(h, std::as_bytes(std::span(bytes)));
  }
  return hexadecimal(h);
}

}  // namespace minbert
