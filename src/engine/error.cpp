// Errors with the path of the module that runs.
#include "minbert/error.h"

namespace minbert {
namespace {
thread_local const std::string* current_path = nullptr;
}

void fail(const std::string& message) {
  if (current_path && !current_path->empty()) throw Error(message + "   (" + *current_path + ")");
  throw Error(message);
}

Scope::Scope(const std::string& path) : current_(current_path, &path) {}
const std::string* Scope::current() { return current_path; }

}  // namespace minbert
