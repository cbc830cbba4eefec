// The sum of the gradients over the ranks, begun while backward still runs. Backward makes them whole from the last to
// the first, as they lie in their buffer: heads, last layer, ..., embeddings. Behind it a thread of its own sums them
// in pieces, which are the same on all ranks, from the last to the first.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "minbert/tensor.h"

namespace minbert {

class Exchange {
 public:
  explicit Exchange(const Tensor& gradients);       // on the CPU, until finish()
  ~Exchange();                                      // without finish(): backward had an error, and nothing more is sent
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void whole_from(int64_t element);                 // this element and all behind it will not change any more
  void finish();                                    // all are whole; waits for the last sum

 private:
  void run();

  Tensor gradients_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t whole_from_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace minbert
