// Bytes as printable characters, for the files of byte-level BPE (Radford et al. 2019, encoder.py, bytes_to_unicode).
#pragma once

#include <string>
#include <string_view>

namespace minbert {

std::string to_letters(std::string_view bytes);

// The bytes that the letters stand for; the text itself if it has any other character.
std::string from_letters(std::string_view letters);

}  // namespace minbert
