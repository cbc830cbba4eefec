// Reading losses without making a step wait for them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "minbert/tensor.h"

namespace minbert {

// Losses on their way from the device. On a GPU they are read together, every 20 batches, so that no step waits for
// one; elsewhere at once.
class LossReader {
 public:
  using Then = std::function<void(const std::vector<double>& losses)>;
  void add(const std::vector<Tensor>& losses, Then then);        // each a single value; `then` gets them,
                                                                 // and what it captures must live until flush()
  void flush();                                     // now; before anything is reported or saved

 private:
  static constexpr size_t room = 64;
  std::shared_ptr<Storage> values_;                 // [room] on the device: those that wait
  size_t used_ = 0;
  std::vector<std::pair<size_t, Then>> waiting_;    // how many losses each has
};

}  // namespace minbert
