// What an action says when it fails, and whether a text has a part.
#pragma once

#include <string>

#include "minbert/error.h"

namespace minbert::test {

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace minbert::test
