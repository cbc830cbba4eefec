// Losses are gathered in one tensor on the device and read together.
#include "loss_reader.h"

#include <utility>

#include "engine/fill.h"
#include "engine/storage.h"

namespace minbert {

void LossReader::add(const std::vector<Tensor>& losses, Then then) {
  const Device device = losses[0].device();
  MB_CHECK(losses.size() <= room, "{} losses at once", losses.size());
  if (used_ + losses.size() > room) flush();
  if (!values_) values_ = Storage::exact(int64_t(room * sizeof(real)), device);
  for (const Tensor& loss : losses) copy_or_add(loss, Tensor::view(values_, int64_t(used_++), {}), false);
  waiting_.emplace_back(losses.size(), std::move(then));
  if (device == Device::cpu || waiting_.size() == 20) flush();
}

void LossReader::flush() {
  if (waiting_.empty()) return;
  const std::vector<real> values = Tensor::view(values_, 0, {int64_t(used_)}).values();
  used_ = 0;
  auto at = values.begin();
  for (const auto& [count, then] : std::exchange(waiting_, {})) {              // empty, whatever a `then` throws
    then({at, at + int64_t(count)});
    at += int64_t(count);
  }
}

}  // namespace minbert
