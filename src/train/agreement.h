// What must be the same on every rank of a run. Each of these is an Error on all ranks that says what differs, and
// where; with one rank they do nothing.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "minbert/module.h"

namespace minbert {

// A number that differs where the bytes do, all but surely. h: that of the bytes before them.
uint64_t fingerprint(std::span<const std::byte> bytes, uint64_t h = 0);
template <class List>
uint64_t fingerprint(const List& values, uint64_t h) {
  return fingerprint(std::as_bytes(std::span(values)), h);
}
uint64_t fingerprint(const Parameters& parameters);

// Before the first step: the program, the settings, a fingerprint of the data, and the parameters.
void compare_start(const std::function<std::map<std::string, std::string>()>& settings_of_run,
                   const std::function<uint64_t()>& data, const Parameters& parameters);
// Later: the parameters. A rank's part from those of the others when a bit flips in its memory.
void compare_parameters(int64_t step, const Parameters& parameters);

}  // namespace minbert
