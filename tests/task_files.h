// What the tests of tasks and their files share: a temporary folder, a tokenizer of three words, errors as text.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "error_of.h"
#include "minbert/task.h"

namespace minbert::test {

struct Folder {                                    // a temporary folder, removed at the end
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("minbert_test_tasks_" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
};

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class Action>
std::string message(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline Tokenizer small_tokenizer(const Folder& folder) {
  return Tokenizer(folder.file("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n"), true);
}

inline const Task& task_named(std::string_view name) {
  return *std::ranges::find_if(all_tasks(), [&](const Task& task) { return task.name == name; });
}

}  // namespace minbert::test
