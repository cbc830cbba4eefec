// Time that passes while a run trains.
#pragma once

#include <chrono>

namespace minbert {

inline double now() {                               // seconds
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// --save-every: when a run saves, wherever it stands.
class SaveClock {
 public:
  explicit SaveClock(double minutes) : minutes_(minutes) {}
  bool due() const { return minutes_ > 0 && now() - saved_ >= 60 * minutes_; }
  void saved() { saved_ = now(); }                  // after a save of any kind

 private:
  double minutes_, saved_ = now();
};

}  // namespace minbert
