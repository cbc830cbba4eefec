// What the tests of tasks and their files share: a tokenizer of three words, a task by its name.
#pragma once

#include <algorithm>
#include <string>

#include "error_of.h"
#include "folder.h"
#include "minbert/task.h"

namespace minbert::test {

inline Tokenizer small_tokenizer(const Folder& folder) {
  return Tokenizer(folder.file("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n"), true);
}

inline const Task& task_named(std::string_view name) {
  return *std::ranges::find_if(all_tasks(), [&](const Task& task) { return task.name == name; });
}

}  // namespace minbert::test
