// What must be the same on every rank of a run. Where it is not, it is an Error on all ranks that
// says what differs, and where; with one rank these do nothing.
#pragma once

#include <map>
#include <string>

#include "minbert/json.h"
#include "minbert/module.h"

namespace minbert {

// Before the first step: the settings, the files (sources.h), and the parameters.
void compare_start(std::map<std::string, std::string> settings, const Json& sources,
                   const Parameters& parameters);
// Later: the parameters. They come to differ when a bit flips in the memory of a rank.
void compare_parameters(int64_t step, const Parameters& parameters);

}  // namespace minbert
