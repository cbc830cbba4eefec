// The data folder beside the program, or beside the headers that it was compiled with.
#include "minbert/shipped.h"

#include <filesystem>

namespace minbert {
namespace {

namespace fs = std::filesystem;

// Which has data/: the folder itself, or an installation's share/minbert in it.
fs::path with_data(const fs::path& folder) {
  std::error_code none;
  for (const fs::path& candidate : {folder, folder / "share/minbert"})
    if (fs::exists(candidate / "data/grammar.txt", none)) return candidate;
  return {};
}

fs::path beside_program() {
  std::error_code none;
  for (fs::path at = fs::read_symlink("/proc/self/exe", none).parent_path(); at.has_relative_path();
       at = at.parent_path())
    if (const fs::path found = with_data(at); !found.empty()) return found;
  return {};
}
fs::path beside_header(const fs::path& header) {    // of include/minbert/
  return with_data(header.parent_path().parent_path().parent_path());
}

}  // namespace

std::string shipped(const std::string& name, const std::string& header) {
  static const fs::path of_program = beside_program();
  const fs::path folder = of_program.empty() ? beside_header(header) : of_program;
  std::error_code none;
  const bool is_here = fs::equivalent("data", folder / "data", none);
  if (folder.empty() || is_here) return name;
  return (folder / name).string();
}

}  // namespace minbert
