// One process works in a folder.
#pragma once

#include <cstdio>
#include <memory>
#include <set>
#include <string>

namespace minbert {

// While it lives, no other process can lock the folder. The system ends the lock with the process,
// however that ends, and with those it has started: the runs of a study. Within a process several
// may hold the same lock. FOLDER/lock names the process. Error where another process has the lock.
// A file system without locks: a line on stderr says so.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);

 private:
  std::shared_ptr<std::FILE> held_;
};

// Is nothing in the folder but these files, or is there no such folder?
bool is_free(const std::string& folder, const std::set<std::string>& but = {"lock"});

}  // namespace minbert
