// Lists of names, and the error for a name that is not on one.
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
    all += (all.empty() ? "" : between) + names[i];
  }
  return all;
}

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(list, separator))
    parts.emplace_back(part.begin(), part.end());
  return parts;
}

size_t index_of(const std::string& name, const std::vector<std::string>& names, const char* what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return size_t(found - names.begin());
  fail(formatted("there is no {} \"{}\"; the {}s are: {}", what, name, what, joined(names)));
}

}  // namespace minbert
