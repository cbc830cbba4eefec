// Random numbers on the host: streams by name, uniform and normal deviates.
#include "minbert/random.h"

#include <cmath>
#include <numbers>

namespace minbert {

uint64_t stream_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;              // FNV-1a's offset basis and prime for 64 bits
  for (const char c : name)
    hash = (hash ^ uint64_t(static_cast<unsigned char>(c))) * 0x100000001b3u;
  return hash;
}

uint32_t Random::next() {
  const uint64_t i = index_++;
  if (i % 4 == 0) block_ = RandomKey{seed_, stream_}.block(uint32_t(i / 4), uint32_t(i / 4 >> 32));
  return block_.word[i % 4];
}

double Random::uniform() {
  const uint64_t high = next() >> 5, low = next() >> 6;             // 27 + 26 bits
  return double(high << 26 | low) * 0x1p-53;
}

uint64_t Random::below(uint64_t n) {
  // The limit is the largest multiple of n, less one.
  const uint64_t limit = ~uint64_t(0) - (~uint64_t(0) % n + 1) % n;
  for (;;) {
    const uint64_t high = next(), draw = high << 32 | next();
    if (draw <= limit) return draw % n;
  }
}

double Random::normal() {
  const double u = 1 - uniform();                         // (0, 1], so that the logarithm is finite
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * uniform());
}

double Random::truncated_normal() {
  for (;;)
    if (const double z = normal(); std::abs(z) <= 2) return z;
}

DropoutClock& DropoutClock::current() {
  thread_local DropoutClock clock;
  return clock;
}

}  // namespace minbert
