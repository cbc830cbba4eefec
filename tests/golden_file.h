// Where the golden files lie: beside the tests' sources.
#pragma once

#include <filesystem>
#include <string>

namespace minbert::test {

inline std::string golden_file(const std::string& name) {
  return (std::filesystem::path(__FILE__).parent_path() / "golden" / name).string();
}

}  // namespace minbert::test
