// The storage pool.
#include "engine/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "engine/cuda.h"
#include "engine/tape.h"

namespace minbert {
namespace {

constexpr int64_t alignment = 64;                   // a cache line, and AVX-512's widest access
constexpr int64_t huge_page = 2 << 20;

// A freed block may be used again at once, on the GPU, too: all its work runs in one stream, in order.
struct Pool {
  std::mutex mutex;
  std::multimap<int64_t, void*> free_blocks;        // by size
  PoolStatistics statistics{};
};
Pool& pool(Device device) {
  static Pool* pools = new Pool[2];                 // never destroyed: tensors in static variables may outlive them
  return pools[int(device)];
}

// The next size class, in steps of 1/8 of a power of two and of at least 64: 1024, 1152, 1280, ... 2048, 2304, ...
int64_t size_class(int64_t bytes) {
  const int64_t step = std::max<int64_t>(alignment, int64_t(std::bit_floor(uint64_t(bytes))) / 8);
  return (bytes + step - 1) / step * step;
}

void* from_system(int64_t bytes, const char* maker) {
  const int64_t align = bytes >= huge_page ? huge_page : alignment;
  const int64_t rounded = (bytes + align - 1) / align * align;
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
void empty(Pool& p, Device device) {
  for (const auto& [size, block] : p.free_blocks) {
    give_back(block, device);
    p.statistics.bytes_held -= size;
  }
  p.free_blocks.clear();
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
  const int64_t size = size_class(std::max<int64_t>(bytes, 1));
  Pool& p = pool(device);
  std::lock_guard lock(p.mutex);
  auto found = p.free_blocks.lower_bound(size);
  int64_t taken = size;
  void* block = nullptr;
  if (found != p.free_blocks.end()) {
    taken = found->first;
    block = found->second;
    p.free_blocks.erase(found);
  } else {
    block = from(device, size, maker);
    ++p.statistics.allocations;
    p.statistics.bytes_held += size;
  }
  p.statistics.bytes_in_use += taken;
  return std::shared_ptr<Storage>(new Storage(block, taken, device, true));
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
  p.free_blocks.emplace(bytes_, data_);
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
