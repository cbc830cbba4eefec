// What the parts of the rehearsal share.
#pragma once

#include <mutex>

#include "cuda_runtime.h"

namespace rehearsal {

constexpr size_t page = 4096;
inline bool in_kernel = false;

const char* environment(const char* name, const char* otherwise);
[[gnu::format(printf, 1, 2)]] [[noreturn]] void stop(const char* format, ...);
cudaError_t result(cudaError_t error);             // which cudaGetLastError will know

// The device's turn: copies that waited are performed, all or the first, and whoever now touches device memory may.
struct Turn {
  std::lock_guard<std::recursive_mutex> lock;
  explicit Turn(uint64_t copies = ~0ull);
  ~Turn();
};

// Whether the device may touch all these bytes; host memory, pinned or not, does not count.
bool on_device(const void* at, size_t bytes);

// A kernel's arguments are words; one that is an address of the host's is a mistake that a GPU answers with an error.
void check_arguments(const char* words, size_t bytes);

}  // namespace rehearsal
