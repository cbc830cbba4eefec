// Storage: a block of memory from its device's pool, which keeps freed blocks for later requests.
//
// The pool cuts blocks out of segments that it gets from the system. A request takes the smallest
// free range that is large enough, and leaves its rest free. A block that is given back becomes one
// with the free ranges that it touches. So what a step holds at its peak is little more than its
// tensors need, and after the first batches of a training run no step asks the system again.
#pragma once

#include <memory>

#include "minbert/tensor.h"

namespace minbert {

class Storage {
 public:
  // pooled: at a multiple of 256 bytes. unpooled: for flat buffers. Error if there is no
  // memory left.
  static std::shared_ptr<Storage> pooled(int64_t bytes, Device device);
  static std::shared_ptr<Storage> unpooled(int64_t bytes, Device device);
  static std::shared_ptr<Storage> copy_of(const void* host, int64_t bytes, Device device);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  Device device() const { return device_; }

 private:
  Storage(void* data, int64_t bytes, Device device, bool pooled)
      : data_(data), bytes_(bytes), device_(device), pooled_(pooled) {}
  void* data_;
  int64_t bytes_;
  Device device_;
  bool pooled_;
};

// Statistics of a device's memory, for tests.
struct PoolStatistics {
  int64_t allocations;                              // how often the system was asked for a segment
  int64_t bytes_held;                               // in use and free together
  int64_t bytes_in_use;
};
void release_free_blocks(Device device);           // gives segments of which nothing is in use back

PoolStatistics pool_statistics(Device device = default_device());

}  // namespace minbert
