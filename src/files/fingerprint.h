// A number that differs where bytes do, all but surely. Studies know models, data and options again
// by it, and ranks compare their work. It is no protection against somebody who forges a file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace minbert {

// h: that of the bytes before them
uint64_t fingerprint(std::span<const std::byte> bytes, uint64_t h = 0);
template <class List>
uint64_t fingerprint(const List& values, uint64_t h) {
  return fingerprint(std::as_bytes(std::span(values)), h);
}
std::string fingerprint_text(std::string_view bytes);            // 16 hexadecimal digits
std::string file_fingerprint(const std::string& file);           // that of its bytes

}  // namespace minbert
