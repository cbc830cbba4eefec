// A choice is an enum. The name of a value is that which the code has for it, with - for _:
// options, files and messages say "round-robin" for Sampling::round_robin.
//
//   name_of(Pool::cls)                  "cls"
//   choice<Pool>("mean", "--pool")      Pool::mean; an error begins with --pool
//   choices<Pool>()                     {"pooler", "cls", "mean"}
#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace minbert {

// As the compiler writes it: "... value = minbert::Pool::cls; ..."; where there is none,
// "... value = (minbert::Pool)3; ...".
template <auto value>
constexpr std::string_view code_of_value() {
  const std::string_view code = __PRETTY_FUNCTION__;
  const size_t begin = code.rfind("value = ") + 8;
  return code.substr(begin, code.find_first_of(";]", begin) - begin);
}

// The names of an enum's values, which are 0, 1, 2, ...
template <class E, int value = 0>
std::vector<std::string> choices() {
  constexpr std::string_view code = code_of_value<E(value)>();
  if constexpr (code.starts_with('(')) {
    return {};
  } else {
    std::string name(code.substr(code.rfind(':') + 1));
    std::ranges::replace(name, '_', '-');
    std::vector<std::string> names = choices<E, value + 1>();
    names.insert(names.begin(), name);
    return names;
  }
}

template <class E>
  requires std::is_enum_v<E>
std::string name_of(E value) {
  return choices<E>()[size_t(value)];
}

template <class E>
  requires std::is_enum_v<E>
std::ostream& operator<<(std::ostream& out, E value) {
  return out << name_of(value);
}

// The index of the name in the list. Error: "WHAT: there is no "NAME"; valid are: A, B; the nearest
// is A"
size_t index_of(const std::string& name, const std::vector<std::string>& names,
                const std::string& what);

template <class E>
E choice(const std::string& name, const std::string& what) {       // Errors: those of index_of
  return E(index_of(name, choices<E>(), what));
}

}  // namespace minbert
