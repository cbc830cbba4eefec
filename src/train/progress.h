// Progress: one line that is written over on a terminal; a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace minbert {

class Progress {
 public:
  // total: how many units the work has in all; done: how many were done before this start (a resumed run).
  Progress(int64_t total, int64_t done);
  void update(const std::string& what, double loss, int64_t tokens, int64_t done);   // after every step
  void line(const std::string& text);               // a line that stays
  void finish();                                    // clears the progress line

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  int64_t total_, done_at_start_, tokens_ = 0, tokens_shown_ = 0;
  Clock::time_point start_, shown_;
};

}  // namespace minbert
