// Version and commit, which the Makefile writes to build/commit.h, and the data folder beside the
// program.
#include "files/about.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "engine/process.h"
#include "engine/text.h"
#include "minbert/error.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

// The folder that has data/: in the program's folder or above it.
fs::path home() {
  std::error_code none;
  for (fs::path at = fs::read_symlink("/proc/self/exe", none).parent_path(); at.has_relative_path();
       at = at.parent_path())
    for (const fs::path& candidate : {at, at / "share/minbert"})
      if (fs::exists(candidate / "data/grammar.txt", none)) return candidate;
  return {};
}

}  // namespace

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

std::string shipped(const std::string& name) {
  static const fs::path folder = home();
  std::error_code none;
  const bool is_here = fs::equivalent("data", folder / "data", none);
  if (folder.empty() || is_here) return name;
  return (folder / name).string();
}

std::string command_of(const std::string& program) {
  const char* const front = std::getenv(front_variable);
  const fs::path beside = fs::path(program_invocation_name).parent_path() / program;
  std::error_code none;
  if (!front && fs::is_regular_file(beside, none)) return shell_word(beside.string());
  return formatted("{} {}", front ? front : "minbert", program);
}

}  // namespace minbert
