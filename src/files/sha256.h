// SHA-256 (FIPS 180-4), by which studies know models, data and options again.
#pragma once

#include <string>
#include <string_view>

namespace minbert {

std::string sha256(std::string_view bytes);               // 64 hexadecimal digits
std::string sha256_of_file(const std::string& file);      // Error if it cannot be read

}  // namespace minbert
