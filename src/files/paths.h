// The folder that was meant by a name that is not right.
#pragma once

#include <functional>
#include <string>

namespace minbert {

// The folder that was meant where this one is not right: the one above it, the one beside it whose
// name is nearest, or one in it; "" where `right` holds of none of them.
std::string nearby(const std::string& folder, const std::function<bool(const std::string&)>& right);

}  // namespace minbert
