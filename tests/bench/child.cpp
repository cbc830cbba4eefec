// Starting a program and talking with it.
#include "bench/child.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "minbert/error.h"

namespace minbert::bench {

Child::Child(const std::vector<std::string>& command, const std::vector<std::string>& environment)
    : name_(command[0]) {
  int in[2], out[2];                                // closed on exec, or one child would hold another's pipe
  const bool piped = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0;
  MB_CHECK(piped, "{}: no pipe: {}", name_, std::strerror(errno));
  process_ = fork();
  MB_CHECK(process_ >= 0, "{}: cannot start it: {}", name_, std::strerror(errno));
  if (process_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    for (const std::string& line : environment) putenv(const_cast<char*>(line.c_str()));
    execvp(words[0], words.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = fdopen(in[1], "w");
  from_ = fdopen(out[0], "r");
}

Child::~Child() {
  if (to_) finish();
}

std::string Child::listen() {
  std::string line;
  for (int c; (c = std::fgetc(from_)) != '\n'; line += char(c))
    MB_CHECK(c != EOF, "{} ended without an answer; what it said about it stands above", name_);
  return line;
}

const std::vector<double>& Child::ask_all(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  const std::string answer = listen();
  std::istringstream in(answer);
  answer_.clear();
  for (double number; in >> number;) answer_.push_back(number);
  MB_CHECK(!answer_.empty() && in.eof(), "{}", answer);
  return answer_;
}

double Child::finish() {
  std::fclose(to_);
  std::fclose(from_);
  to_ = nullptr;
  rusage usage{};
  int status = 0;
  wait4(process_, &status, 0, &usage);
  return 1024.0 * double(usage.ru_maxrss);          // Linux counts in KiB
}

}  // namespace minbert::bench
