// The storage pool.
#include "engine/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "engine/cuda.h"

namespace minbert {
namespace {

constexpr int64_t alignment = 256;             // more than a cache line and AVX-512's widest access
constexpr int64_t huge_page = 2 << 20;

int64_t rounded_up(int64_t bytes, int64_t step) { return (bytes + step - 1) / step * step; }

// Segments from the system, each cut into blocks in use and the free ranges between them. A freed
// block may be used again at once, on the GPU, too: all its work runs in one stream, in order.
struct Pool {
  std::mutex mutex;
  // The bytes of each. No two free ranges of a segment touch.
  std::map<char*, int64_t> segments, free_ranges;
  std::set<std::pair<int64_t, char*>> free_by_size;
  PoolStatistics statistics{};

  void add_free(char* begin, int64_t bytes) {
    free_ranges.emplace(begin, bytes);
    free_by_size.emplace(bytes, begin);
  }
  int64_t remove_free(char* begin) {
    const int64_t bytes = free_ranges.at(begin);
    free_by_size.erase({bytes, begin});
    free_ranges.erase(begin);
    return bytes;
  }
  // A block out of the smallest free range that is large enough. nullptr if there is none.
  char* take(int64_t bytes) {
    const auto found = free_by_size.lower_bound({bytes, nullptr});
    if (found == free_by_size.end()) return nullptr;
    char* begin = found->second;
    const int64_t all = remove_free(begin);
    if (all > bytes) add_free(begin + bytes, all - bytes);
    return begin;
  }
  // Makes a block a free range, joined with those that it touches.
  void give(char* begin, int64_t bytes) {
    if (free_ranges.contains(begin + bytes) && !segments.contains(begin + bytes))
      bytes += remove_free(begin + bytes);
    const auto next = free_ranges.upper_bound(begin);
    if (next != free_ranges.begin() && !segments.contains(begin)) {
      const auto [before, size] = *std::prev(next);
      if (before + size == begin) {
        bytes += remove_free(before);
        begin = before;
      }
    }
    add_free(begin, bytes);
  }
};
Pool& pool(Device device) {
  // They are never destroyed: tensors in static variables may outlive them.
  static Pool* pools = new Pool[2];
  return pools[int(device)];
}

void* from_system(int64_t bytes) {
  const int64_t align = bytes >= huge_page ? huge_page : alignment;
  const int64_t rounded = rounded_up(bytes, align);
  void* block = std::aligned_alloc(size_t(align), size_t(rounded));
  MB_CHECK(block,
           "out of memory: {} MB asked for, {} MB held already; lower --batch or --max-length",
           bytes >> 20, pool(Device::cpu).statistics.bytes_held >> 20);
#ifdef MADV_HUGEPAGE
  // It takes fewer page faults and TLB misses.
  if (bytes >= huge_page) madvise(block, size_t(rounded), MADV_HUGEPAGE);
#endif
  return block;
}

void give_back(void* block, Device device) {
  if (device == Device::cuda) cuda::free(block);
  else std::free(block);
}
// Gives the segments of which nothing is in use back to the system.
void release_unused_segments(Pool& p, Device device) {
  std::erase_if(p.segments, [&](const auto& segment) {
    const auto& [begin, bytes] = segment;
    const auto found = p.free_ranges.find(begin);
    if (found == p.free_ranges.end() || found->second != bytes) return false;
    p.remove_free(begin);
    give_back(begin, device);
    p.statistics.bytes_held -= bytes;
    return true;
  });
}

// `wanted` bytes, or if the card is full, once the pool's unused segments have gone back to it, at
// least `least`.
void* from_gpu(int64_t* wanted, int64_t least) {
  if (void* block = cuda::allocate(*wanted)) return block;
  Pool& p = pool(Device::cuda);
  release_unused_segments(p, Device::cuda);
  *wanted = least;
  if (void* block = cuda::allocate(least)) return block;
  const cuda::Memory card = cuda::memory();
  fail(formatted(
      "out of GPU memory: {} MB asked for; tensors hold {} MB, between which {} MB lie "
      "in smaller pieces; of the card's {} MB {} are free. Lower --batch (and raise --accumulate) "
      "or --max-length",
      least >> 20, p.statistics.bytes_in_use >> 20,
      (p.statistics.bytes_held - p.statistics.bytes_in_use) >> 20, card.total >> 20,
      card.free >> 20));
}

void* from(Device device, int64_t* wanted, int64_t least) {
  return device == Device::cuda ? from_gpu(wanted, least) : from_system(*wanted);
}

// While errors of memory are looked for, each block is one of its own, so that a write beyond its
// end is seen.
bool has_pool([[maybe_unused]] Device device) {
#ifdef __SANITIZE_ADDRESS__
  return false;
#elif defined(MINBERT_REHEARSAL)
  return device == Device::cpu;
#else
  return device == Device::cpu || !cuda::debugging();
#endif
}

}  // namespace

std::shared_ptr<Storage> Storage::pooled(int64_t bytes, Device device) {
  if (!has_pool(device)) return unpooled(bytes, device);
  const int64_t size = rounded_up(std::max<int64_t>(bytes, 1), alignment);
  Pool& p = pool(device);
  std::lock_guard lock(p.mutex);
  char* block = p.take(size);
  if (!block) {
    // Small requests share a segment of an eighth of what is held: few segments, and little held
    // unused.
    const int64_t shared = std::clamp<int64_t>(p.statistics.bytes_held / 8, 64 << 10, 16 << 20);
    int64_t segment = std::max(size, shared);
    segment = rounded_up(segment, segment >= huge_page ? huge_page : alignment);
    char* begin = static_cast<char*>(from(device, &segment, size));
    ++p.statistics.allocations;
    p.statistics.bytes_held += segment;
    p.segments.emplace(begin, segment);
    p.add_free(begin, segment);
    block = p.take(size);
  }
  p.statistics.bytes_in_use += size;
  return std::shared_ptr<Storage>(new Storage(block, size, device, true));
}

std::shared_ptr<Storage> Storage::unpooled(int64_t bytes, Device device) {
  Pool& p = pool(device);
  const std::lock_guard lock(p.mutex);
  int64_t size = std::max<int64_t>(bytes, 1);
  void* block = from(device, &size, size);
  p.statistics.bytes_held += size;
  p.statistics.bytes_in_use += size;
  return std::shared_ptr<Storage>(new Storage(block, size, device, false));
}

std::shared_ptr<Storage> Storage::copy_of(const void* host, int64_t bytes, Device device) {
  std::shared_ptr<Storage> copy = pooled(bytes, device);
  if (device == Device::cuda) cuda::to_device(copy->data(), host, bytes);
  else std::memcpy(copy->data(), host, size_t(bytes));
  return copy;
}

Storage::~Storage() {
  Pool& p = pool(device_);
  std::lock_guard lock(p.mutex);
  p.statistics.bytes_in_use -= bytes_;
  if (pooled_) {
    p.give(static_cast<char*>(data_), bytes_);
  } else {
    p.statistics.bytes_held -= bytes_;
    give_back(data_, device_);
  }
}

void release_free_blocks(Device device) {
  Pool& p = pool(device);
  const std::lock_guard lock(p.mutex);
  release_unused_segments(p, device);
}

PoolStatistics pool_statistics(Device device) {
  Pool& p = pool(device);
  std::lock_guard lock(p.mutex);
  return p.statistics;
}

}  // namespace minbert
