// What a norm read and what it wrote, in a forward that was traced.
#pragma once

#include "engine/tape.h"

namespace minbert {

// Is this the module at the path, or one within it?
bool is_in(const std::string& module, const std::string& path);

struct NormPass {
  Tensor x, y;                                      // empty where the norm puts nothing on the tape
};
// x: the first argument that another module made; y: the last result.
NormPass norm_pass(const std::string& path, const std::vector<Trace::Operation>& operations);

}  // namespace minbert
