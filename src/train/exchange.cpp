#include "exchange.h"

#include <algorithm>
#include <span>

#include "engine/ranks.h"

namespace minbert {

Exchange::Exchange(const Tensor& gradients)
    : gradients_(gradients), whole_from_(gradients.size()), thread_([this] { run(); }) {}

void Exchange::run() {
  constexpr int64_t piece = 1 << 20;
  for (int64_t end = gradients_.size(); end > 0;) {
    const int64_t begin = std::max<int64_t>(0, end - piece);
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ends_ || whole_from_ <= begin; });
      if (whole_from_ > begin) return;
    }
    ranks().sum(std::span(gradients_.data() + begin, size_t(end - begin)), true);
    end = begin;
  }
}

void Exchange::whole_from(int64_t element) {
  const std::scoped_lock lock(mutex_);
  whole_from_ = element;
  changed_.notify_one();
}

void Exchange::finish() {
  whole_from(0);
  thread_.join();
}

Exchange::~Exchange() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

}  // namespace minbert
