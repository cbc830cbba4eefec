// Progress: how far a long task is and how long it still takes, in a line on the terminal that is gone when the task
// is done.
//
//   Progress progress("reading quora-train.csv", bytes);
//   while (...) progress.update(bytes_read);       //  34%  12 s left  reading quora-train.csv
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace minbert {

class Progress {
 public:
  enum class Where {
    terminal,                                       // stdout or else stderr, if one is a terminal
    beside_results,                                 // stderr, if it is one and stdout is none: that has the results
    log,                                            // stdout; if it is none, a line that stays every 15 s
  };
  // total: how many units the work has in all, 0 where nobody knows; done: how many were done before (a resumed run).
  Progress(std::string what, int64_t total, Where where = Where::terminal, int64_t done = 0);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done) {                       // as often as one likes
    if (done != total_ && due()) show(done, what_);
  }
  bool due() const;                                 // is it time for a new line?
  void show(int64_t done, const std::string& what);
  double since_shown() const;                       // seconds since the last line, or since the start
  void line(const std::string& text);               // a line on stdout that stays
  void finish();                                    // clears the line

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  int64_t total_, done_at_start_;
  std::ostream* out_ = nullptr;                     // none: nothing is shown
  bool rewrite_ = true, on_screen_ = false;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

}  // namespace minbert
