// The tape itself, and what a Tensor's handle points to.
#pragma once

#include "engine/storage.h"
#include "minbert/autograd.h"

namespace minbert {

struct Tensor::Impl {
  Impl(std::shared_ptr<Storage> s, int64_t o, Shape sh);
  ~Impl();
  std::shared_ptr<Storage> storage;
  int64_t offset;                                   // in elements
  Shape shape;
  bool requires_grad = false;
  bool retain_grad = false;
  bool recorded = false;                            // a result on the tape, not a leaf
  Tensor grad;                                      // none until backward reaches this tensor
  Tensor grad_place;                                // where to write it, for parameters in a flat buffer
};

class Tape {
 public:
  struct Entry {
    const char* name;
    Tensor result;
    std::vector<Tensor> inputs;
    Backward backward;
    const std::string* path;                        // the module at work, or nullptr
  };
  static Tape& mine();                              // this thread's

  Tensor record(const char* name, Tensor result, std::vector<Tensor> inputs, Backward backward);
  void backward(const Tensor& result, Tensor cotangent);
  void clear();

  std::vector<Entry> entries;
  bool enabled = true;

 private:
  void step_back(Entry& entry) const;
};

}  // namespace minbert
