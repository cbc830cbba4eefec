// The time that a process spends on several threads at once, and the memory that its first thread touched first.
#pragma once

#include <cstdint>

namespace minbert::bench {

// Since the process began. A region is what runs between the start of OpenMP's threads and their last one's end.
struct ParallelTime {
  double seconds = 0;                               // in regions of several threads
  int64_t regions = 0;
  double unsplit_seconds = 0;                       // in those that an if clause left to one thread: too small to split
  int64_t unsplit_regions = 0;
};
// All 0 where the OpenMP is not GNU's, whose calls regions.cpp stands in for.
const ParallelTime& parallel_time();

// A page of memory belongs to the processor whose thread touches it first, and the system counts each such touch as a
// fault of that thread.
struct PageFaults {
  int64_t of_first_thread = 0, of_all = 0;
};
PageFaults page_faults();                           // since the process began
void use_small_pages();                             // from now on: every fault is of as much memory

}  // namespace minbert::bench
