// Looking around a folder.
#include "files/paths.h"

#include <algorithm>
#include <filesystem>

#include "engine/names.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> folders_in(const fs::path& folder) {
  std::error_code none;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.is_directory(none)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string nearby(const std::string& folder,
                   const std::function<bool(const std::string&)>& right) {
  const fs::path at = (fs::path(folder) / "").parent_path();        // without a / at its end
  const fs::path above = (at / "..").lexically_normal();
  const std::string own = at.filename().string();
  std::vector<fs::path> candidates = {
      above, above / nearest(own, folders_in(above), 1 + own.size() / 3)};
  for (const std::string& name : folders_in(at)) candidates.push_back(at / name);
  for (const fs::path& candidate : candidates) {
    const std::string name = (candidate.lexically_normal() / "").parent_path().string();
    if (right(name)) return name;
  }
  return "";
}

}  // namespace minbert
