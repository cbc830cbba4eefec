// Tests of one device's or one precision's own ways, whatever the others run on.
#pragma once

#include "minbert/device.h"

namespace minbert::test {

// New tensors are on this device for a while.
class On {
 public:
  explicit On(Device device) : before_(default_device()) { set_default_device(device); }
  ~On() { set_default_device(before_); }
  On(const On&) = delete;
  On& operator=(const On&) = delete;

 private:
  Device before_;
};

// Products are of this precision for a while.
class In {
 public:
  explicit In(Precision precision) : before_(matmul_precision()) { set_matmul_precision(precision); }
  ~In() { set_matmul_precision(before_); }
  In(const In&) = delete;
  In& operator=(const In&) = delete;

 private:
  Precision before_;
};

}  // namespace minbert::test
