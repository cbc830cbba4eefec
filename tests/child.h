// Another process of this test program. It runs one test case, which is skipped otherwise.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "minbert/device.h"

namespace minbert::test {

class Child {
 public:
  // told: what the test case learns from its parent, by Child::told(). out, error: where its stdout and stderr go.
  Child(const std::string& test_case, const std::string& told, const std::string& out = "/dev/null",
        const std::string& error = "/dev/null") {
    std::vector<std::string> words = {"/proc/self/exe", "--test-case=" + test_case, "--no-skip"};
    if (default_device() == Device::cuda) words.insert(words.end(), {"--device", "cuda"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    setenv("MINBERT_CHILD", told.c_str(), 1);
    process_ = fork();
    if (process_ == 0) {
      dup2(open(out.c_str(), O_WRONLY), STDOUT_FILENO), dup2(open(error.c_str(), O_WRONLY), STDERR_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    REQUIRE(process_ > 0);
  }
  ~Child() { kill(); }
  static std::string told() { return std::getenv("MINBERT_CHILD"); }

  // Kills it once so_far() holds, for certain: it is halted and looked at again. False: it has ended by itself.
  template <class SoFar>
  bool killed_when(SoFar so_far) {
    for (int status = 0; waitpid(process_, &status, WNOHANG) == 0; usleep(1000)) {
      if (!so_far()) continue;
      ::kill(process_, SIGSTOP);
      waitpid(process_, &status, WUNTRACED);
      if (!WIFSTOPPED(status)) break;
      if (so_far()) return kill(), true;
      ::kill(process_, SIGCONT);
    }
    process_ = 0;
    return false;
  }
  // Waits for its end, which must be a good one. Returns the most bytes that it had in memory.
  int64_t peak_memory() {
    int status = 0;
    rusage usage = {};
    REQUIRE(wait4(process_, &status, 0, &usage) == process_);
    process_ = 0;
    REQUIRE(status == 0);
    return int64_t(usage.ru_maxrss) * 1024;
  }

 private:
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }
  pid_t process_;
};

}  // namespace minbert::test
