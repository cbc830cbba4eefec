// What must be the same on every rank of a run. Each of these is an Error on all ranks that says what differs, and
// where; with one rank they do nothing.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "files/fingerprint.h"
#include "minbert/module.h"

namespace minbert {

uint64_t fingerprint(const Parameters& parameters);

// Before the first step: the program, the settings, a fingerprint of the data, and the parameters.
void compare_start(std::map<std::string, std::string> settings,
                   const std::function<uint64_t()>& data, const Parameters& parameters);
// Later: the parameters. A rank's part from those of the others when a bit flips in its memory.
void compare_parameters(int64_t step, const Parameters& parameters);

}  // namespace minbert
