// The ZIP format: each file behind its header; then the directory, which repeats the headers and says where each file
// is; then the end, which says where the directory is. Numbers are little-endian.
#include "files/zip.h"

#include <array>
#include <cstdint>
#include <limits>

#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert {
namespace {

// CRC-32 of ISO 3309, bit by bit reflected: the polynomial is 0xEDB88320.
uint32_t crc32(const std::string& bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      t[byte] = byte;
      for (int bit = 0; bit < 8; ++bit) t[byte] = (t[byte] >> 1) ^ (t[byte] & 1 ? 0xEDB88320u : 0);
    }
    return t;
  }();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) crc = table[(crc ^ uint8_t(c)) & 255] ^ (crc >> 8);
  return ~crc;
}

// The lowest byte first; bytes may be more than value has.
void append(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out += char(value & 255);
    value >>= 8;
  }
}

constexpr uint64_t first_day_of_1980 = 0x00210000;  // date and time of every file: equal files, equal archives

// What the header and the directory say alike of a file: version 1.0, stored.
std::string fields(const std::string& name, const std::string& bytes) {
  std::string text;
  append(text, 10, 2);
  append(text, 0, 4);                               // no flags, no compression
  append(text, first_day_of_1980, 4);
  append(text, crc32(bytes), 4);
  append(text, bytes.size(), 4);
  append(text, bytes.size(), 4);
  append(text, name.size(), 2);
  append(text, 0, 2);                               // no extra field
  return text;
}

}  // namespace

void write_zip(const std::string& archive, const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out, directory;
  for (const auto& [name, bytes] : files) {
    const uint64_t begin = out.size();
    out += "PK\3\4" + fields(name, bytes) + name + bytes;
    directory += "PK\1\2";
    append(directory, 10, 2);
    directory += fields(name, bytes);
    append(directory, 0, 10);                       // no comment, first disk, no attributes
    append(directory, begin, 4);
    directory += name;
  }
  const uint64_t begin = out.size();
  out += directory + "PK\5\6";
  append(out, 0, 4);
  append(out, files.size(), 2);
  append(out, files.size(), 2);
  append(out, directory.size(), 4);
  append(out, begin, 4);
  append(out, 0, 2);
  MB_CHECK(out.size() <= std::numeric_limits<uint32_t>::max(), "{}: {} bytes are too many for this form of zip",
           archive, out.size());
  write_file(archive, out);
}

}  // namespace minbert
