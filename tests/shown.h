// How doctest prints lists and pairs of a failed check: 3 14 15, (0, 2), none; and a const char*, else an address.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

namespace doctest {

template <class T>
struct StringMaker<std::vector<T>> {
  static constexpr size_t most = 40;
  static String convert(const std::vector<T>& list) {
    String text;
    for (size_t i = 0; i < list.size() && i < most; ++i) text += (i ? " " : "") + toString(T(list[i]));
    return list.empty() ? "nothing" : list.size() > most ? text + " ... " + toString(list.size()) + " in all" : text;
  }
};
template <>
struct StringMaker<const char*> {
  static String convert(const char* text) { return text; }
};
template <class A, class B>
struct StringMaker<std::pair<A, B>> {
  static String convert(const std::pair<A, B>& pair) {
    return "(" + toString(pair.first) + ", " + toString(pair.second) + ")";
  }
};
template <class T>
struct StringMaker<std::optional<T>> {
  static String convert(const std::optional<T>& value) { return value ? toString(*value) : "none"; }
};

}  // namespace doctest
