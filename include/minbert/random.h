// Random numbers that do not depend on threads, on the order of construction or on the machine.
//
// Every number is a pure function of (seed, stream, index), by Philox4x32-10 (Salmon, Moraes, Dror
// & Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011). A stream is named:
// "init/bert.pooler.dense.weight/17" for row 17, "shuffle/sst/epoch 3". So two models that differ
// in one norm share every other number, and a resumed run repeats an uninterrupted one.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace minbert {

#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD                                          // host and device under nvcc, nothing under g++
#endif

struct PhiloxBlock {
  uint32_t word[4];
};

// Philox4x32 with 10 rounds and the paper's constants: counter (4 words), key (2 words) -> 4 words.
HD inline PhiloxBlock philox(PhiloxBlock c, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const uint64_t p0 = uint64_t(c.word[0]) * 0xD2511F53u;
    const uint64_t p1 = uint64_t(c.word[2]) * 0xCD9E8D57u;
    c = {{uint32_t(p1 >> 32) ^ c.word[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c.word[3] ^ k1,
          uint32_t(p0)}};
  }
  return c;
}

uint64_t stream_of(std::string_view name);          // FNV-1a, 64 bits

// A sequence of numbers on one named stream, on the host.
class Random {
 public:
  Random(uint64_t seed, std::string_view stream) : seed_(seed), stream_(stream_of(stream)) {}
  uint32_t next();                        // uniform over 32 bits
  double uniform();                       // [0, 1), 53 bits
  uint64_t below(uint64_t n);             // 0 .. n-1, without bias
  double normal();                        // N(0, 1), Box-Muller
  double truncated_normal();              // N(0, 1) drawn again until it lies within two deviations
  template <class List>
  void shuffle(List& list) {              // Fisher and Yates
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }

 private:
  uint64_t seed_, stream_, index_ = 0;
  PhiloxBlock block_{};
};

// A kernel recomputes its random words from this. Philox's key is the seed, its counter (column
// block, row, stream).
struct RandomKey {
  uint64_t seed = 0, stream = 0;
  HD PhiloxBlock block(uint32_t column, uint32_t row) const {
    return philox({{column, row, uint32_t(stream), uint32_t(stream >> 32)}}, uint32_t(seed),
                  uint32_t(seed >> 32));
  }
};

// Which dropout masks are drawn: a function of this seed, this step and the module's path. One for
// the thread. step is not the optimizer's: each call of backward() moves it on by one. A loop of
// one's own sets the seed once, and a resumed one the step; the trainers set it for each batch.
struct DropoutClock {
  uint64_t seed = 0, step = 0;
  static DropoutClock& current();
};

}  // namespace minbert
