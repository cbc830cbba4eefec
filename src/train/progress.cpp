// The progress line.
#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace minbert {
namespace {

double seconds_between(std::chrono::steady_clock::time_point a, std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

// "48 s", "3 min 20 s", "2 h 05 min"
std::string duration(double seconds) {
  std::ostringstream out;
  const long s = std::lround(seconds);
  out << std::setfill('0');
  if (s < 60) out << s << " s";
  else if (s < 3600) out << s / 60 << " min " << std::setw(2) << s % 60 << " s";
  else out << s / 3600 << " h " << std::setw(2) << s % 3600 / 60 << " min";
  return out.str();
}

}  // namespace

Progress::Progress(int64_t total, int64_t done)
    : terminal_(isatty(STDOUT_FILENO)), total_(total), done_at_start_(done), start_(Clock::now()),
      shown_(start_) {}

void Progress::update(const std::string& what, double loss, int64_t tokens, int64_t done) {
  tokens_ += tokens;
  const Clock::time_point now = Clock::now();
  const double since = seconds_between(shown_, now);
  if (since < (terminal_ ? 0.2 : 15.0)) return;
  const double tokens_per_second = double(tokens_ - tokens_shown_) / since;
  const double per_unit = seconds_between(start_, now) / double(std::max<int64_t>(1, done - done_at_start_));
  std::ostringstream text;
  text << what << "  " << std::setw(3) << 100 * done / std::max<int64_t>(1, total_) << "%  loss "
       << std::fixed << std::setprecision(4) << loss << "  " << std::setprecision(0) << tokens_per_second
       << " tokens/s  " << duration(per_unit * double(total_ - done)) << " left";
  std::cout << (terminal_ ? "\r\033[K" : "") << text.str() << (terminal_ ? "" : "\n") << std::flush;
  shown_ = now, tokens_shown_ = tokens_;
}

void Progress::line(const std::string& text) {
  finish();
  std::cout << text << std::endl;
}

void Progress::finish() {
  if (terminal_) std::cout << "\r\033[K" << std::flush;
}

}  // namespace minbert
