// The progress of training: beside what Progress says, the loss, and the tokens a second since the last line.
#pragma once

#include "engine/text.h"
#include "minbert/error.h"
#include "minbert/progress.h"

namespace minbert {

class TrainingProgress : public Progress {
 public:
  TrainingProgress(int64_t total, int64_t done) : Progress("", total, Where::log, done) {}
  void update(const std::string& what, double loss, int64_t tokens, int64_t done) {     // after every step
    tokens_ += tokens;
    if (!due()) return;
    show(done, format("{}  loss {}  {} tokens/s", what, fixed(loss, 4), fixed(double(tokens_) / since_shown(), 0)));
    tokens_ = 0;
  }

 private:
  int64_t tokens_ = 0;
};

}  // namespace minbert
