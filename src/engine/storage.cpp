// The storage pool.
#include "engine/storage.h"

#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "engine/cuda.h"
#include "engine/tape.h"

namespace minbert {
namespace {

constexpr int64_t alignment = 256;                  // more than a cache line and AVX-512's widest access
constexpr int64_t huge_page = 2 << 20;
#ifdef __SANITIZE_ADDRESS__
constexpr int64_t red_zone = alignment;             // behind every block, so that no write beyond one stays unseen
void forbid(void* begin, int64_t bytes) { ASAN_POISON_MEMORY_REGION(begin, size_t(bytes)); }
void permit(void* begin, int64_t bytes) { ASAN_UNPOISON_MEMORY_REGION(begin, size_t(bytes)); }
#else
constexpr int64_t red_zone = 0;
void forbid(void*, int64_t) {}
void permit(void*, int64_t) {}
#endif

int64_t rounded_up(int64_t bytes, int64_t step) { return (bytes + step - 1) / step * step; }

// Segments from the system, each cut into blocks in use and the free ranges between them. A freed block may be used
// again at once, on the GPU, too: all its work runs in one stream, in order.
struct Pool {
  std::mutex mutex;
  std::map<char*, int64_t> segments, free;          // bytes of each; no two free ranges of a segment touch
  std::set<std::pair<int64_t, char*>> free_by_size;
  PoolStatistics statistics{};

  void add_free(char* begin, int64_t bytes) {
    free.emplace(begin, bytes);
    free_by_size.emplace(bytes, begin);
  }
  int64_t remove_free(char* begin) {
    const int64_t bytes = free.at(begin);
    free_by_size.erase({bytes, begin});
    free.erase(begin);
    return bytes;
  }
  // A block out of the smallest free range that is large enough; nullptr if there is none.
  char* take(int64_t bytes) {
    const auto found = free_by_size.lower_bound({bytes, nullptr});
    if (found == free_by_size.end()) return nullptr;
    char* begin = found->second;
    const int64_t rest = remove_free(begin) - bytes;
    if (rest > 0) add_free(begin + bytes, rest);
    return begin;
  }
  // Makes a block a free range, joined with those that it touches.
  void give(char* begin, int64_t bytes) {
    if (free.contains(begin + bytes) && !segments.contains(begin + bytes)) bytes += remove_free(begin + bytes);
    const auto next = free.upper_bound(begin);
    if (next != free.begin() && !segments.contains(begin)) {
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
  static Pool* pools = new Pool[2];                 // never destroyed: tensors in static variables may outlive them
  return pools[int(device)];
}

void* from_system(int64_t bytes, const char* maker) {
  const int64_t align = bytes >= huge_page ? huge_page : alignment;
  const int64_t rounded = rounded_up(bytes, align);
  void* block = std::aligned_alloc(size_t(align), size_t(rounded));
  MB_CHECK(block, "out of memory in {}: {} MB asked for, {} MB held already; lower --batch or --max-length",
           work_text(maker), bytes >> 20, pool(Device::cpu).statistics.bytes_held >> 20);
#ifdef MADV_HUGEPAGE
  if (bytes >= huge_page) madvise(block, size_t(rounded), MADV_HUGEPAGE);   // fewer page faults and TLB misses
#endif
  return block;
}

void give_back(void* block, Device device) {
  if (device == Device::cuda) cuda::free(block);
  else std::free(block);
}
// Gives the segments of which nothing is in use back to the system.
void empty(Pool& p, Device device) {
  std::erase_if(p.segments, [&](const auto& segment) {
    const auto& [begin, bytes] = segment;
    const auto found = p.free.find(begin);
    if (found == p.free.end() || found->second != bytes) return false;
    p.remove_free(begin);
    if (device == Device::cpu) permit(begin, bytes);
    give_back(begin, device);
    p.statistics.bytes_held -= bytes;
    return true;
  });
}

// If the card is full, the pool's free blocks, which may have other sizes, go back to it before a second request.
void* from_gpu(int64_t bytes, const char* maker) {
  if (void* block = cuda::allocate(bytes)) return block;
  Pool& p = pool(Device::cuda);
  empty(p, Device::cuda);
  if (void* block = cuda::allocate(bytes)) return block;
  const cuda::Memory card = cuda::memory();
  fail(format("out of GPU memory in {}: {} MB asked for; results and gradients hold {} MB; of the card's {} MB {} are "
              "free. Lower --batch (and raise --accumulate) or --max-length", work_text(maker), bytes >> 20,
              p.statistics.bytes_in_use >> 20, card.total >> 20, card.free >> 20));
}

void* from(Device device, int64_t bytes, const char* maker) {
  return device == Device::cuda ? from_gpu(bytes, maker) : from_system(bytes, maker);
}

}  // namespace

std::shared_ptr<Storage> Storage::pooled(int64_t bytes, Device device, const char* maker) {
  const int64_t size = rounded_up(std::max<int64_t>(bytes, 1) + red_zone, alignment);
  Pool& p = pool(device);
  std::lock_guard lock(p.mutex);
  char* block = p.take(size);
  if (!block) {
    // More than the request, in proportion to what is held: so segments are few, and little is held for nothing.
    const int64_t spare = std::clamp<int64_t>(p.statistics.bytes_held / 8, 64 << 10, 16 << 20);
    const int64_t segment = rounded_up(std::max(size, spare), size >= huge_page ? huge_page : alignment);
    char* begin = static_cast<char*>(from(device, segment, maker));
    if (device == Device::cpu) forbid(begin, segment);
    ++p.statistics.allocations;
    p.statistics.bytes_held += segment;
    p.segments.emplace(begin, segment);
    p.add_free(begin, segment);
    block = p.take(size);
  }
  if (device == Device::cpu) permit(block, bytes);
  p.statistics.bytes_in_use += size;
  return std::shared_ptr<Storage>(new Storage(block, size, device, true));
}

std::shared_ptr<Storage> Storage::exact(int64_t bytes, Device device, const char* maker) {
  const std::lock_guard lock(pool(device).mutex);
  void* block = from(device, std::max<int64_t>(bytes, 1), maker);
  return std::shared_ptr<Storage>(new Storage(block, bytes, device, false));
}

std::shared_ptr<Storage> Storage::copy_of(const void* host, int64_t bytes, Device device) {
  std::shared_ptr<Storage> copy = pooled(bytes, device);
  if (device == Device::cuda) cuda::to_device(copy->data(), host, bytes);
  else std::memcpy(copy->data(), host, size_t(bytes));
  return copy;
}

Storage::~Storage() {
  if (!pooled_) {
    give_back(data_, device_);
    return;
  }
  Pool& p = pool(device_);
  std::lock_guard lock(p.mutex);
  if (device_ == Device::cpu) forbid(data_, bytes_);
  p.give(static_cast<char*>(data_), bytes_);
  p.statistics.bytes_in_use -= bytes_;
}

void release_free_blocks(Device device) {
  Pool& p = pool(device);
  const std::lock_guard lock(p.mutex);
  empty(p, device);
}

PoolStatistics pool_statistics(Device device) {
  Pool& p = pool(device);
  std::lock_guard lock(p.mutex);
  return p.statistics;
}

}  // namespace minbert
