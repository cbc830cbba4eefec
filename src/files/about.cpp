// Version and commit, which the Makefile writes to build/commit.h, and the names of programs.
#include "files/about.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "engine/process.h"
#include "engine/text.h"
#include "minbert/error.h"

namespace minbert {

std::string version() { return MINBERT_VERSION; }
std::string build_commit() { return MINBERT_COMMIT; }
#ifdef __clang__
std::string compiler() { return __VERSION__; }      // "Clang 19.1.7"
#else
std::string compiler() { return formatted("g++ {}", __VERSION__); }
#endif

std::string about(const std::string& program) {
  prepare_openblas();                               // chooses the kernels
  return formatted("{} (minbert) {}, commit {}\n{}, OpenBLAS {} with its {} kernels", program,
                   version(), build_commit(), compiler(), openblas_version(), openblas_kernels());
}

std::string command_of(const std::string& program) {
  const char* const front = std::getenv(front_variable);
  const auto beside = std::filesystem::path(program_invocation_name).parent_path() / program;
  std::error_code none;
  if (!front && std::filesystem::is_regular_file(beside, none)) return shell_word(beside.string());
  return formatted("{} {}", front ? front : "minbert", program);
}

}  // namespace minbert
