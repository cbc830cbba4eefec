// A program that answers questions: it is started with pipes on its stdin and stdout and asked line by line.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace minbert::bench {

class Child {
 public:
  // environment: "NAME=value" lines on top of ours.
  Child(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::string listen();                             // the next line it prints; Error where it ended instead
  // A line to it, numbers back; the first of them. Error where the answer is no number, with what it says instead.
  const std::vector<double>& ask_all(const std::string& line);
  double ask(const std::string& line) { return ask_all(line)[0]; }
  double finish();                                  // closes its stdin and waits; its peak memory in bytes

 private:
  std::string name_;
  std::vector<double> answer_;
  pid_t process_;
  FILE *to_, *from_;
};

}  // namespace minbert::bench
