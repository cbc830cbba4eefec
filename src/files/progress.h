// Progress of a long task: share done and time left, in a line on the terminal that disappears when
// the task is done. It goes to stderr: results alone are on stdout.
//
//   Progress progress("reading quora-train.csv", bytes);
//   while (...) progress.update(bytes_read);       //  34%  12 s left  reading quora-train.csv
#pragma once

#include <cstdint>
#include <string>

#include "engine/clock.h"

namespace minbert {

bool shows_lines();             // is stderr a terminal that can clear a line? TERM=dumb cannot

class Progress {
 public:
  enum class Where {
    terminal,                   // stderr, if it is a terminal
    beside_results,             // the same, if stdout, with the results, is not a terminal, too
    log,                        // stderr; if it is no terminal, a line that stays every 15 s
  };
  // total: the units of work, 0 if unknown; done: those done before (a resumed run).
  Progress(std::string what, int64_t total, Where where = Where::terminal, int64_t done = 0);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done) {                     // may be called often
    if (done != total_ && due()) show(done, what_);
  }
  bool due() const;                               // is it time for a new line?
  void show(int64_t done, const std::string& what);
  // Seconds since the last line, or since the start
  double since_shown() const { return now() - shown_; }
  void line(const std::string& text);             // a line on stdout that stays
  void finish();                                  // clears the line

 private:
  std::string what_;
  int64_t total_, done_at_start_;
  bool shown_at_all_, rewrite_, on_screen_ = false;
  double start_ = now(), shown_ = start_;
};

}  // namespace minbert
