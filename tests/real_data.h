// Real data, where MINBERT_REAL_DATA names its folder. No test needs it; what is not run for want of it says so.
#pragma once

#include <cstdlib>
#include <iostream>

namespace minbert::test {

// The folder; or nullptr, and a line that says what is not run.
inline const char* real_data(const char* what) {
  const char* folder = std::getenv("MINBERT_REAL_DATA");
  if (!folder) std::cout << what << ": not run (MINBERT_REAL_DATA is not set)\n";
  return folder;
}

}  // namespace minbert::test
