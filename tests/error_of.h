// What an action says when it fails.
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

}  // namespace minbert::test
