// A temporary folder, removed at the end.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "minbert/error.h"

namespace minbert::test {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / formatted("minbert_test_{}_{}", getpid(), made++);
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path / name).string(); }
  // Writes a file, in folders that are made where they are missing. Returns its path.
  std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
    return *this / name;
  }

 private:
  static inline int made = 0;
};

}  // namespace minbert::test
