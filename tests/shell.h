// A command of the shell: what it prints on both streams, and its exit status.
#pragma once

#include <doctest/doctest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <iostream>
#include <string>

namespace minbert::test {

struct ShellResult {
  std::string said;
  int status = 0;                                   // -1: a signal ended it
  bool has(const std::string& text) const { return said.find(text) != said.npos; }
};

// The command runs in this folder.
inline ShellResult shell(const std::string& folder, const std::string& command) {
  FILE* const pipe = popen(("exec 2>&1; cd '" + folder + "' && " + command).c_str(), "r");
  REQUIRE(pipe);
  ShellResult result;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.said.append(buffer, n);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

// Is the program there? If not, says that `what` was not run.
inline bool installed(const std::string& program, const std::string& what) {
  if (shell(".", "command -v " + program).status == 0) return true;
  std::cout << what << ": not run (" << program << " is not installed)\n";
  return false;
}

}  // namespace minbert::test
