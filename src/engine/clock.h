// The clock that runs measure themselves by.
#pragma once

#include <chrono>

namespace minbert {

// Seconds since a fixed moment; this clock never goes back.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace minbert
