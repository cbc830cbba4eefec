// What a result was made by: this program and this machine, and which files.
#pragma once

#include "minbert/json.h"

namespace minbert {

// minbert's version and commit, compiler, processor, OpenBLAS and its kernels, threads, ranks,
// device.
Json environment();

std::string date();                                 // now: "2026-11-29T08:00:00Z"

}  // namespace minbert
