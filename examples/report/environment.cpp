// Asking the machine and the files.
#include "report/environment.h"

#include <omp.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "engine/process.h"
#include "engine/ranks.h"
#include "files/about.h"
#include "files/fingerprint.h"
#include "minbert/device.h"
#include "minbert/files.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

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

std::string file_fingerprint(const std::string& file) {
  return fingerprint_text(file_size(file) == 0 ? read_file(file) : MappedFile(file).text());
}

Json facts_of_files(const std::vector<std::string>& files) {
  Json all = Json::object();
  for (const std::string& file : files)
    if (fs::exists(file))
      all.set(fs::path(file).filename().string(),
              Json::object({{"bytes", file_size(file)}, {"fingerprint", file_fingerprint(file)}}));
  return all;
}

std::vector<std::string> files_of_model(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* file : {"vocab.txt", "vocab.json", "merges.txt", "tokenizer.json",
                           "tokenizer_config.json", "config.json", "model.safetensors"})
    if (fs::exists(folder + "/" + file)) files.push_back(folder + "/" + file);
  return files;
}

}  // namespace minbert
