// What an action says when it fails; whether a text has a part, and how often.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "minbert/error.h"
#include "shown.h"

// The expression throws an Error, and its text has this part.
#define CHECK_ERROR(expression, part) \
  CHECK_THROWS_WITH_AS(expression, doctest::Contains(std::string(part).c_str()), minbert::Error)

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

inline size_t times(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace minbert::test
