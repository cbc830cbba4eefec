// Prepares the process for its work, unless the environment says otherwise.
#include "engine/process.h"

#include <cblas.h>
#include <fcntl.h>
#include <omp.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include "engine/names.h"
#include "minbert/error.h"

// Functions of OpenBLAS: drop its kernels, and choose again as OPENBLAS_CORETYPE says. A build for
// a single processor has neither, and nothing to choose.
extern "C" {
[[gnu::weak]] void gotoblas_dynamic_quit();
[[gnu::weak]] void gotoblas_dynamic_init();
}

namespace minbert {
namespace {

// A file that is opened later must not get the number of a closed stream, and what is printed. The
// wrong way round, so that reading and writing still fail.
void keep_standard_streams() {
  for (const int stream : {0, 1, 2})                // stdin, stdout, stderr
    if (fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

// The limit of a control group in cores: "150000 100000" in cpu.max, or these numbers in the two
// files of cgroup v1, are one and a half. "max", or -1 in v1, is none.
double limit_of(const std::string& group) {
  double quota = 0, period = 0;
  if (!(std::ifstream(group + "/cpu.max") >> quota >> period)) {
    std::ifstream(group + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(group + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : HUGE_VAL;
}

}  // namespace

std::string openblas_kernels() { return openblas_get_corename(); }

std::string openblas_version() {  // of "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
  return split(openblas_get_config(), ' ').at(1);
}

std::string better_kernels(const std::string& chosen, bool avx2, bool avx512) {
  const std::vector<std::string> before_avx2 = {"Prescott", "Core2", "Nehalem", "Sandybridge",
                                                "Barcelona"};
  const bool is_older = std::ranges::count(before_avx2, chosen) > 0;
  if (avx512 && (is_older || chosen == "Haswell")) return "SkylakeX";
  return avx2 && is_older ? "Haswell" : "";
}

bool use_kernels(const std::string& name) {
  if (gotoblas_dynamic_quit && gotoblas_dynamic_init) {
    gotoblas_dynamic_quit();
    setenv("OPENBLAS_CORETYPE", name.c_str(), 1);   // also for the programs that this one starts
    gotoblas_dynamic_init();                       // chooses by itself if it does not know the name
  }
  return strcasecmp(openblas_kernels().c_str(), name.c_str()) == 0;
}

void prepare_openblas() {
  [[maybe_unused]] static const bool once = [] {
    bool avx2 = false, avx512 = false;
#ifdef __x86_64__
    avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    avx512 = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq");
#endif
    const std::string chosen = openblas_kernels(), better = better_kernels(chosen, avx2, avx512);
    if (!better.empty() && !std::getenv("OPENBLAS_CORETYPE") && use_kernels(better))
      std::cerr << formatted(
          "OpenBLAS {} chose its {} kernels for this processor; its {} kernels are used "
          "instead (OPENBLAS_CORETYPE=NAME chooses others)\n",
          openblas_version(), chosen, better);
    return true;
  }();
}

double cores_of_groups(const std::string& root) {
  const std::string v2 = root + "/sys/fs/cgroup", v1 = v2 + "/cpu";
  double least = std::min(limit_of(v2), limit_of(v1));
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {   // "0::/a", "4:cpu,cpuacct:/a"
    const size_t begin = line.find(':') + 1, end = line.find(":/", begin - 1);
    if (end == line.npos) continue;
    const std::vector<std::string> kinds = split(line.substr(begin, end - begin));
    if (!kinds.empty() && !std::ranges::count(kinds, "cpu")) continue;
    for (std::string group = line.substr(end + 1); !group.empty(); group.resize(group.rfind('/')))
      least = std::min(least, limit_of((kinds.empty() ? v2 : v1) + group));
  }
  return least;
}

int usable_cores() {
  return int(std::min<double>(omp_get_num_procs(), std::ceil(cores_of_groups())));
}

void prepare_threads() {
  keep_standard_streams();
  if (!std::getenv("GOMP_SPINCOUNT") && !std::getenv("OMP_WAIT_POLICY")) {
    setenv("GOMP_SPINCOUNT", "3000", 1);
    setenv("KMP_BLOCKTIME", "1", 0);                // milliseconds, for LLVM's OpenMP
    std::ifstream in("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::error_code none;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", none).string();
    // Where it fails, this program goes on.
    if (!none && !words.empty()) execv(program.c_str(), arguments.data());
  }
  if (!std::getenv("OMP_NUM_THREADS")) omp_set_num_threads(usable_cores());
}

}  // namespace minbert
