// Lists of names.
#include "engine/names.h"

#include <algorithm>
#include <ranges>

#include "minbert/error.h"

namespace minbert {
std::string joined(const std::vector<std::string>& names, const std::string& between,
                   size_t most) {
  std::string all;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == most) return all + formatted("{}and {} more", between, names.size() - most);
    all += (i == 0 ? "" : between) + names[i];
  }
  return all;
}

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(list, separator)) {
    std::string_view text(part.begin(), part.end());
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    parts.emplace_back(text.substr(0, text.find_last_not_of(" \t") + 1));
  }
  return parts;
}

}  // namespace minbert
