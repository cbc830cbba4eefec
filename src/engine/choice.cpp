// The error for a name that is not on a list.
#include "minbert/choice.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "engine/names.h"
#include "minbert/error.h"

namespace minbert {
namespace {

// Levenshtein's distance. row[j]: of what was read of a to the first j letters of b.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (const char letter : a) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const bool differ = std::tolower(letter) != std::tolower(b[j]);
      const size_t least = std::min({row[j + 1] + 1, row[j] + 1, diagonal + differ});
      diagonal = std::exchange(row[j + 1], least);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(const std::string& name, const std::vector<std::string>& names, size_t most) {
  const auto to_name = [&](const std::string& other) { return distance(name, other); };
  const auto found = std::ranges::min_element(names, {}, to_name);
  return found == names.end() || to_name(*found) > most ? "" : *found;
}

size_t index_of(const std::string& name, const std::vector<std::string>& names,
                const std::string& what) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return size_t(found - names.begin());
  fail(formatted("{}: there is no \"{}\"; valid are: {}; the nearest is {}", what, name,
                 joined(names), nearest(name, names)));
}

}  // namespace minbert
