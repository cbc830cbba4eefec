// The progress line.
#include "files/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace minbert {
namespace {

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

constexpr const char* clear = "\r\033[K";

}  // namespace

bool shows_lines() {
  const char* const terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) && terminal && std::string_view(terminal) != "dumb";
}

Progress::Progress(std::string what, int64_t total, Where where, int64_t done)
    : what_(std::move(what)), total_(total), done_at_start_(done) {
  rewrite_ = shows_lines();
  shown_at_all_ =
      where == Where::log || (rewrite_ && (where == Where::terminal || !isatty(STDOUT_FILENO)));
}

bool Progress::due() const { return shown_at_all_ && since_shown() >= (rewrite_ ? 0.2 : 15.0); }

void Progress::show(int64_t done, const std::string& what) {
  std::ostringstream text;
  if (total_ > 0) {
    const double per_unit = (now() - start_) / double(std::max<int64_t>(1, done - done_at_start_));
    const double left = per_unit * double(std::max<int64_t>(0, total_ - done));
    text << std::setw(3) << 100 * done / total_ << "%  " << duration(left) << " left  ";
  }
  text << what;
  // Without line wrap: the terminal cuts a line that is too long.
  if (rewrite_) std::cerr << clear << "\033[?7l" << text.str() << "\033[?7h" << std::flush;
  else std::cerr << text.str() << std::endl;
  shown_ = now();
  on_screen_ = rewrite_;
}

void Progress::line(const std::string& text) {
  finish();
  std::cout << text << std::endl;
}

void Progress::finish() {
  if (on_screen_) std::cerr << clear << std::flush;
  on_screen_ = false;
}

}  // namespace minbert
