// Where the project has an item of a document: the list that `make papers` checks, for the reports.
#pragma once

#include <string>

#include "minbert/json.h"

namespace minbert {

// Of data/papers/items.txt, for an item as in places_of("IsoBN", "eq.6"): "code", as
// "src/norm/cls/iso_bn.cpp:118 theta_bar", the line only where the sources are, and "test", parts of
// the tests' names. Empty lists for an item that is not on the list.
Json places_of(const std::string& document, const std::string& item);

}  // namespace minbert
