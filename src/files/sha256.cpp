// SHA-256, in the letters of FIPS 180-4.
#include "files/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "minbert/files.h"

namespace minbert {
namespace {

using Words = std::array<uint32_t, 8>;

// The first 32 bits of the fractional part of x.
uint32_t fraction(long double x) { return uint32_t((x - std::floor(x)) * 4294967296.0L); }

// K: of the cube roots of the first 64 primes. H⁰: of the square roots of the first 8.      [sec. 4.2.2, 5.3.3]
struct Constants {
  std::array<uint32_t, 64> K{};
  Words H{};
  Constants() {
    size_t count = 0;
    for (int n = 2; count < K.size(); ++n) {
      bool prime = true;
      for (int d = 2; d * d <= n; ++d) prime &= n % d != 0;
      if (!prime) continue;
      if (count < H.size()) H[count] = fraction(std::sqrt(static_cast<long double>(n)));
      K[count++] = fraction(std::cbrt(static_cast<long double>(n)));
    }
  }
};
const Constants constants;

// One block of 64 bytes.                                                                    [sec. 6.2.2]
void add_block(Words& H, const unsigned char* bytes) {
  std::array<uint32_t, 64> W;
  for (size_t t = 0; t < 16; ++t)
    W[t] = uint32_t(bytes[4 * t]) << 24 | uint32_t(bytes[4 * t + 1]) << 16 | uint32_t(bytes[4 * t + 2]) << 8 |
           uint32_t(bytes[4 * t + 3]);
  for (size_t t = 16; t < 64; ++t) {
    const uint32_t x = W[t - 15], y = W[t - 2];
    W[t] = (std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10)) + W[t - 7] +
           (std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3)) + W[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = H;
  for (size_t t = 0; t < 64; ++t) {
    const uint32_t T1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                        constants.K[t] + W[t];
    const uint32_t T2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + T1;
    d = c;
    c = b;
    b = a;
    a = T1 + T2;
  }
  const Words now = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < H.size(); ++i) H[i] += now[i];
}

}  // namespace

std::string sha256(std::string_view text) {
  Words H = constants.H;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t done = 0;
  for (; done + 64 <= text.size(); done += 64) add_block(H, bytes + done);
  std::string rest(text.substr(done));              // then 1, zeros, and the length in bits        [sec. 5.1.1]
  rest += '\x80';
  while (rest.size() % 64 != 56) rest += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) rest += char(uint64_t(text.size()) * 8 >> shift);
  for (size_t i = 0; i < rest.size(); i += 64)
    add_block(H, reinterpret_cast<const unsigned char*>(rest.data()) + i);
  std::string digits;
  for (const uint32_t word : H)
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
  return digits;
}

std::string sha256_of_file(const std::string& file) {
  return file_size(file) == 0 ? sha256(read_file(file)) : sha256(MappedFile(file).text());
}

}  // namespace minbert
