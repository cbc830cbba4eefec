// Asking the machine and the files.
#include "report/environment.h"

#include <omp.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "engine/process.h"
#include "engine/ranks.h"
#include "files/about.h"
#include "minbert/device.h"

namespace minbert {
namespace {

// "AMD EPYC 9R14"; "" where it is not known
std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name"))
      return line.substr(std::min(line.find(": ") + 2, line.size()));
  return "";
}

}  // namespace

Json environment() {
  prepare_openblas();                               // chooses the kernels
  return Json::object({{"minbert", version()},
                       {"commit", build_commit()},
                       {"compiler", compiler()},
                       {"processor", processor_name()},
                       {"OpenBLAS", openblas_version()},
                       {"kernels of OpenBLAS", openblas_kernels()},
                       {"threads", omp_get_max_threads()},
                       {"ranks", ranks().size()},
                       {"device", device_text()}});
}

std::string date() {
  const std::time_t seconds = std::time(nullptr);
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&seconds));
  return text;
}

}  // namespace minbert
