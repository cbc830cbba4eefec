// Where the repository's files lie, and among them the golden files.
#pragma once

#include <filesystem>
#include <string>

namespace minbert::test {

inline std::string repository(const std::string& name = "") {
  return (std::filesystem::absolute(__FILE__).parent_path().parent_path() / name).string();
}

inline std::string golden_file(const std::string& name) { return repository("tests/golden/" + name); }

}  // namespace minbert::test
