// Errors: every failure of the library is a minbert::Error whose message names what was wrong,
// where, and what to do.
//
//   MB_CHECK(a.cols() == b.cols(), "matmul_nt: inner sizes differ: a {} and b {}",
//            a.shape(), b.shape());
//
// Inside a module's forward or backward the message ends with the module's path:
// "   (bert.encoder.layer.3.output.dense)".
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "minbert/choice.h"

namespace minbert {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// formatted("{} of {}", 2, 3) == "2 of 3": each {} takes the next argument's operator<<.
template <class... Args>
std::string formatted(std::string_view pattern, const Args&... args) {
  std::ostringstream out;
  [[maybe_unused]] auto copy_to_brace = [&] {       // writes up to the next "{}" and steps over it
    const size_t brace = pattern.find("{}");
    out << pattern.substr(0, brace);
    pattern = brace == pattern.npos ? "" : pattern.substr(brace + 2);
  };
  ((copy_to_brace(), out << args), ...);
  out << pattern;
  return out.str();
}

// Throws Error(message), with the path of the running module, if there is one, at its end.
[[noreturn]] void fail(const std::string& message);

#define MB_CHECK(condition, ...) \
  do {                           \
    if (!(condition)) [[unlikely]] \
      ::minbert::fail(::minbert::formatted(__VA_ARGS__)); \
  } while (false)

// While it lives, a variable has another value.
template <class T>
class While {
 public:
  While(T& variable, T value)
      : variable_(variable), outer_(std::exchange(variable, std::move(value))) {}
  ~While() { variable_ = std::move(outer_); }
  While(const While&) = delete;

 private:
  T& variable_;
  T outer_;
};

// While a Scope exists, errors and the tape name this module path. `path` must outlive it and all
// tape entries recorded meanwhile.
class Scope {
 public:
  explicit Scope(const std::string& path);
  static const std::string* current();             // nullptr outside of every module

 private:
  While<const std::string*> current_;
};

}  // namespace minbert
