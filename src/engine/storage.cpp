// The storage pool.
#include "engine/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>

namespace minbert {
namespace {

constexpr int64_t alignment = 64;                   // a cache line, and AVX-512's widest access
constexpr int64_t huge_page = 2 << 20;

struct Pool {
  std::mutex mutex;
  std::multimap<int64_t, void*> free_blocks;        // by size
  PoolStatistics books{};
};
Pool& pool() {
  static Pool* the_pool = new Pool;                 // never destroyed: tensors in static variables may outlive it
  return *the_pool;
}

// The next multiple of 1/8 of the power of two below: 1024, 1152, 1280, ... 2048, 2304, ...; but of 64 at least.
int64_t size_class(int64_t bytes) {
  const int64_t step = std::max<int64_t>(alignment, int64_t(std::bit_floor(uint64_t(bytes))) / 8);
  return (bytes + step - 1) / step * step;
}

void* from_system(int64_t bytes, Device device) {
  MB_CHECK(device == Device::cpu, "a tensor on Device::cuda: there is no GPU backend yet; use Device::cpu");
  const int64_t align = bytes >= huge_page ? huge_page : alignment;
  const int64_t rounded = (bytes + align - 1) / align * align;
  void* block = std::aligned_alloc(size_t(align), size_t(rounded));
  MB_CHECK(block, "out of memory: {} MB asked for, {} MB held already; lower --batch or --max-length", bytes >> 20,
           pool().books.bytes_held >> 20);
#ifdef MADV_HUGEPAGE
  if (bytes >= huge_page) madvise(block, size_t(rounded), MADV_HUGEPAGE);   // fewer page faults and TLB misses
#endif
  return block;
}

}  // namespace

std::shared_ptr<Storage> Storage::pooled(int64_t bytes, Device device) {
  const int64_t size = size_class(std::max<int64_t>(bytes, 1));
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  auto found = p.free_blocks.lower_bound(size);
  int64_t taken = size;
  void* block = nullptr;
  if (found != p.free_blocks.end()) {
    taken = found->first, block = found->second;
    p.free_blocks.erase(found);
  } else {
    block = from_system(size, device);
    ++p.books.allocations;
    p.books.bytes_held += size;
  }
  p.books.bytes_in_use += taken;
  return std::shared_ptr<Storage>(new Storage(block, taken, device, true));
}

std::shared_ptr<Storage> Storage::exact(int64_t bytes, Device device) {
  void* block = from_system(std::max<int64_t>(bytes, 1), device);
  return std::shared_ptr<Storage>(new Storage(block, bytes, device, false));
}

Storage::~Storage() {
  if (!pooled_) {
    std::free(data_);
    return;
  }
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  p.free_blocks.emplace(bytes_, data_);
  p.books.bytes_in_use -= bytes_;
}

PoolStatistics pool_statistics() {
  Pool& p = pool();
  std::lock_guard lock(p.mutex);
  return p.books;
}

}  // namespace minbert
