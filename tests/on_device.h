// Tests of one device's own ways, whatever device the others run on.
#pragma once

#include <string>

#include "minbert/device.h"

namespace minbert::test {

// New tensors are on this device for a while.
class On {
 public:
  explicit On(const char* device) : before_(device_names[size_t(default_device())]) { set_default_device(device); }
  ~On() { set_default_device(before_); }
  On(const On&) = delete;
  On& operator=(const On&) = delete;

 private:
  std::string before_;
};

}  // namespace minbert::test
