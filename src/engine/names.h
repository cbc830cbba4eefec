// Lists of names, and tables whose entries have a `name`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "minbert/choice.h"

namespace minbert {

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.push_back(entry.name);
  return names;
}

// most: of more than so many the rest is counted, "and 3 more".
std::string joined(const std::vector<std::string>& names, const std::string& between = ", ",
                   size_t most = SIZE_MAX);

// The parts between the commas, or between others, without blanks around them; of "" none, but of
// "a," the second is "".
std::vector<std::string> split(std::string_view list, char separator = ',');

// The name that was meant: the fewest letters are put in, left out or changed, capitals aside; ""
// where there are more than `most`, or no names.
std::string nearest(const std::string& name, const std::vector<std::string>& names,
                    size_t most = size_t(-1));

}  // namespace minbert
