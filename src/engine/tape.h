// The tape itself, the object that a Tensor is a handle of, and Trace, the observer of the tape.
#pragma once

#include "engine/storage.h"
#include "minbert/autograd.h"

namespace minbert {

// A tensor's gradient. Entries of the tape hold the gradients of inputs and results, not their
// values: a backward that reads values has captured them.
struct Gradient {
  Shape shape;
  Device device = Device::cpu;
  bool required = false;
  bool retained = false;
  bool recorded = false;                     // the tensor is a result on the tape, not a leaf
  Tensor value;                                     // none until backward reaches this tensor
  Tensor storage;                            // where to write it, for parameters in a flat buffer
};

struct Tensor::Impl {
  Impl(std::shared_ptr<Storage> s, int64_t o, Shape sh);
  std::shared_ptr<Storage> storage;
  int64_t offset;                                   // in elements
  Shape shape;
  std::shared_ptr<Gradient> gradient;
};

// While it lives, keeps every operation that goes on the tape: for pictures of a step. Results stay
// in memory; after backward(), with their gradients.
class Trace {
 public:
  struct Operation {
    std::string name, module;                   // "linear", "bert.pooler.dense"
    Tensor result;
    std::vector<int> inputs;                    // the operations that made them; -1: a leaf
    std::vector<Tensor> arguments;              // the inputs themselves
    SourceLine formula;                              // file and line of its forward and backward
  };
  Trace();
  const std::vector<Operation>& operations() const { return operations_; }

 private:
  friend class Tape;
  While<Trace*> current_;
  std::vector<Operation> operations_;
};

class Tape {
 public:
  struct Entry {
    const char* name;
    std::shared_ptr<Gradient> result;
    std::vector<std::shared_ptr<Gradient>> inputs;
    Backward backward;
    const std::string* path;                 // of the module that ran the operation, or nullptr
  };
  static Tape& current();                             // this thread's

  Tensor record(const char* name, Tensor result, const std::vector<Tensor>& inputs,
                Backward backward, SourceLine formula);
  void backward(const Tensor& result, Tensor cotangent);
  void clear();

  std::vector<Entry> entries;
  bool enabled = true;
  Trace* trace = nullptr;

 private:
  // Puts the last entry into the trace
  void keep(const Tensor& result, const std::vector<Tensor>& inputs, SourceLine formula) const;
  void step_back(Entry& entry) const;
};

}  // namespace minbert
