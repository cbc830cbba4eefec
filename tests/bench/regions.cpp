// GNU's OpenMP starts every parallel region by GOMP_parallel. The loader takes the program's function of that name
// before the library's, for OpenBLAS's calls, too: this one takes the time of each region and calls the library's.
#include "regions.h"

#include <dlfcn.h>
#include <omp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;
minbert::bench::ParallelTime total;                 // regions inside one of several threads are not told

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

// work(data) on so many threads, 0: as many as omp_set_num_threads says, 1: an if clause is false.
extern "C" void GOMP_parallel(void (*work)(void*), void* data, unsigned threads, unsigned flags) {
  static const auto of_library = reinterpret_cast<decltype(&GOMP_parallel)>(dlsym(RTLD_NEXT, "GOMP_parallel"));
  if (omp_get_active_level() > 0) return of_library(work, data, threads, flags);
  const bool split = (threads ? int(threads) : omp_get_max_threads()) > 1;
  const double told_before = total.seconds + total.unsplit_seconds;
  const Clock::time_point start = Clock::now();
  of_library(work, data, threads, flags);
  const double seconds = since(start);
  if (split) {
    total.seconds += seconds;
    ++total.regions;
  } else {
    const double told_inside = total.seconds + total.unsplit_seconds - told_before;    // by regions of OpenBLAS
    total.unsplit_seconds += seconds - told_inside;
    ++total.unsplit_regions;
  }
}

namespace minbert::bench {

const ParallelTime& parallel_time() { return total; }

PageFaults page_faults() {
  PageFaults faults;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(thread.path() / "stat");
    std::string text;
    std::getline(in, text);
    std::istringstream fields(text.substr(text.rfind(')') + 1));         // behind the name, which may have blanks
    std::string field;
    for (int i = 0; i < 8; ++i) fields >> field;    // state, parent, group, session, terminal, its group, flags, faults
    const int64_t count = std::stoll(field);
    faults.of_all += count;
    if (thread.path().filename() == std::to_string(getpid())) faults.of_first_thread = count;
  }
  return faults;
}

void use_small_pages() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

}  // namespace minbert::bench
