// What a study prints: a line for each run with the time left, and what its runs print in their
// logs.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "engine/clock.h"
#include "files/progress.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "runs/study.h"

namespace minbert {

// While it lives, what is printed goes to the end of a file. No bar of progress is drawn in a file.
class PrintTo {
 public:
  explicit PrintTo(const std::string& file)
      : out_(dup(STDOUT_FILENO)), errors_(dup(STDERR_FILENO)) {
    flush();
    const int log = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    MB_CHECK(log >= 0, "{}: cannot be written: {}", file, std::strerror(errno));
    put(log, log);
    close(log);
  }
  ~PrintTo() {
    flush();
    put(out_, errors_);
    close(out_);
    close(errors_);
    std::clearerr(stdout);
    // the log's disk may be full; the terminal's is not
    std::cout.clear();
    std::cerr.clear();
  }

 private:
  static void flush() {
    std::cout.flush();
    std::fflush(stdout);
  }
  static void put(int out, int errors) {
    dup2(out, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
  }
  int out_, errors_;
};

// What is done and the time left, foreseen from the cost of what was done since the start.
class Plan {
 public:
  explicit Plan(const std::vector<const Run*>& runs) : count_(runs.size()) {
    for (const Run* run : runs) left_ += run->cost;
  }
  void begin(const Run& run) const {                // a line that the next one replaces
    if (shows_lines())
      std::cerr << formatted("\r\033[K[{}/{}] {} ...{}", number_ + 1, count_, run.name, left())
                << std::flush;
  }
  void done(const Run& run, double seconds) {
    ++number_;
    left_ -= run.cost;
    done_ += run.cost;
    std::cerr << (shows_lines() ? "\r\033[K" : "")
              << formatted("[{}/{}] {}  {} s{}", number_, count_, run.name, std::lround(seconds),
                           left())
              << std::endl;
  }

 private:
  std::string left() const {
    if (done_ == 0 || number_ == count_) return "";
    const double minutes = (now() - start_) / done_ * left_ / 60;
    return minutes < 1 ? "; less than a minute left"
                       : formatted("; {} min left", std::lround(minutes + 0.5));
  }

  size_t count_, number_ = 0;
  double left_ = 0, done_ = 0, start_ = now();
};

inline std::string last_lines(const std::string& file, size_t lines) {
  const std::string text = std::filesystem::exists(file) ? read_file(file) : "";
  size_t begin = text.size();
  for (size_t n = 0; begin != text.npos && begin > 0 && n <= lines; ++n)
    begin = text.rfind('\n', begin - 1);
  return text.substr(begin == text.npos ? 0 : begin);
}

}  // namespace minbert
