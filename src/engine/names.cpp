// The error for a name that is not on the list.
#include "minbert/names.h"

#include <algorithm>

#include "minbert/error.h"

namespace minbert {

size_t place_of(const std::string& name, const std::vector<std::string>& names, const char* what) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return size_t(at - names.begin());
  std::string list;
  for (const std::string& each : names) list += (list.empty() ? "" : ", ") + each;
  fail(format("there is no {} \"{}\"; the {}s are: {}", what, name, what, list));
}

}  // namespace minbert
