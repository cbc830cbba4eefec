// A norm's place in a trace.
#include "models/norm_pass.h"

namespace minbert {

bool is_in(const std::string& module, const std::string& path) {
  return module == path || module.starts_with(path + ".");
}

NormPass norm_pass(const std::string& path, const std::vector<Trace::Operation>& operations) {
  NormPass pass;
  for (const Trace::Operation& o : operations) {
    if (!is_in(o.module, path)) continue;
    for (size_t i = 0; i < o.inputs.size() && !pass.x; ++i)
      if (o.inputs[i] >= 0 && !is_in(operations[size_t(o.inputs[i])].module, path))
        pass.x = o.arguments[i];
    pass.y = o.result;
  }
  return pass;
}

}  // namespace minbert
