// Locks by flock, which the system frees when a process dies.
#include "files/lock.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>

#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert {

namespace fs = std::filesystem;

FolderLock::FolderLock(const std::string& folder) {
  static std::map<fs::path, std::weak_ptr<std::FILE>> own;
  std::weak_ptr<std::FILE>& known = own[fs::canonical(folder)];
  if ((held_ = known.lock())) return;
  const std::string name = folder + "/lock";
  std::FILE* const opened = std::fopen(name.c_str(), "a");     // processes started later inherit it
  MB_CHECK(opened, "{}: cannot write: {}", name, std::strerror(errno));
  held_ = {opened, std::fclose};
  if (flock(fileno(opened), LOCK_EX | LOCK_NB) != 0) {
    MB_CHECK(errno != EWOULDBLOCK,
             "{}: {} works in this folder, or what it started still saves; wait until it has "
             "ended, or choose another folder", folder, read_file(name));
    std::cerr << formatted("{}: no locks here ({}): nothing keeps a second run out of this "
                           "folder\n", folder, std::strerror(errno));
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const bool written = ftruncate(fileno(opened), 0) == 0 &&
                       std::fprintf(opened, "process %d on %s", int(getpid()), host) > 0 &&
                       std::fflush(opened) == 0;
  MB_CHECK(written, "{}: cannot write: {}", name, std::strerror(errno));
  known = held_;
}

bool is_free(const std::string& folder, const std::set<std::string>& but) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (!but.contains(entry.path().filename().string())) return false;
  return !fs::exists(folder, none) || fs::is_directory(folder, none);
}

}  // namespace minbert
