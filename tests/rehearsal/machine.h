// Declarations that the parts of the rehearsal share.
#pragma once

#include <mutex>

#include "rehearsal/cuda_runtime.h"

namespace rehearsal {

constexpr size_t page = 4096;
inline bool in_kernel = false;

const char* environment(const char* name, const char* otherwise);
[[gnu::format(printf, 1, 2)]] [[noreturn]] void stop(const char* format, ...);
cudaError_t result(cudaError_t error);             // stores it for cudaGetLastError, and returns it

// The device's turn: allows access to device memory.
struct Turn {
  std::lock_guard<std::recursive_mutex> lock;
  Turn();
  ~Turn();
};

// May the device touch all these bytes? Not if they are host memory.
bool on_device(const void* at, size_t bytes);

// Checks a kernel's arguments, word by word: a host address is an error, as on a GPU.
void check_arguments(const char* words, size_t bytes);

}  // namespace rehearsal
