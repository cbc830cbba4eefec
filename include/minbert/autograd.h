// The tape: reverse-mode differentiation in the order in which operations ran.
//
// An operation computes its result at once and appends {name, result, inputs, backward} to a
// thread-local list. The list is already in topological order, so backward() walks it once from its
// end, calls each entry's backward with the gradient dc of its result, and frees the entry as it
// passes. Nothing is recorded where no input needs a gradient, nor under NoGrad.
//
//   return record("matmul_nt", gemm_nt(a, b), {a, b}, [a, b](const Tensor& dc, Grads& g) {
//     g(0, [&](Sink da) { gemm_nn(dc, b, da); });      // skipped when a needs no gradient
//     g(1, [&](Sink db) { gemm_tn(dc, a, db); });
//   });
//
//   Gradient  a tensor's gradient: shape, and value after backward reached it (src/engine/tape.h)
//   Grads     the gradients of an operation's inputs: g(i, write) calls write(sink) if i needs one
//   Sink      the tensor to write a gradient to; the first contribution overwrites it, others add
//   Target    a Sink inside a kernel: a pointer and the flag `add` (src/engine/rows.h)
#pragma once

#include <functional>
#include <ostream>
#include <source_location>
#include <vector>

#include "minbert/tensor.h"

namespace minbert {

struct Sink {
  Tensor tensor;
  bool add;
};

struct Gradient;

class Grads {
 public:
  bool wants(int input) const;
  template <class Write>
  void operator()(int input, Write&& write) {
    if (wants(input)) write(sink(input));
  }
  void pass(int input, const Tensor& dc);       // the gradient is dc itself: no copy where possible

 private:
  friend class Tape;
  Grads(std::vector<std::shared_ptr<Gradient>>& inputs, bool may_share)
      : inputs_(inputs), may_share_(may_share) {}
  Sink sink(int input);
  std::vector<std::shared_ptr<Gradient>>& inputs_;
  bool may_share_;
};

using Backward = std::function<void(const Tensor& dc, Grads& g)>;

// Puts an operation on the tape and returns its result. name: a string literal. backward is called
// at most once, and only where the result has a gradient; it keeps what it reads by capturing it.
// formula: the line that calls record, or a helper that passes on the line it was called from.
using SourceLine = std::source_location;
Tensor record(const char* name, Tensor result, const std::vector<Tensor>& inputs,
              Backward backward, SourceLine formula = SourceLine::current());

// Whether record() would put an operation of this input on the tape: for operations that compute
// gradients during the forward pass.
bool will_record(const Tensor& input);

// d(result)/d(every leaf that requires a gradient), times `cotangent` (all ones by default;
// result's shape). The whole tape is used up. Error where result is not on the tape: a second
// backward needs a new forward. Each call moves the DropoutClock (random.h) on by one step, so that
// every forward that is followed by a backward draws dropout masks of its own.
void backward(const Tensor& result, Tensor cotangent = {});

// While it lives, nothing is recorded. A forward without backward() belongs under it: one outside
// leaves its entries on the tape, with all that they keep, and the next backward() walks them, too.
// tape_length() shows it, clear_tape() frees them.
class NoGrad {
 public:
  NoGrad();

 private:
  While<bool> enabled_;
};

// y = part(x), a part of a network. With set_recompute(true) it keeps x alone: backward() runs it
// again, with the same dropout, and then its backward. Values and gradients are the same, bit for
// bit (src/engine/recompute.cpp). part must not change anything when it runs, such as statistics.
Tensor recompute(const Tensor& x, const std::function<Tensor(const Tensor&)>& part);
void set_recompute(bool on);                        // off by default
bool recomputes();

// How far backward() is from finite differences, to check a backward of one's own: over all inputs,
// the largest difference between the two gradients of sum(c f()), where c is random, beside the
// largest number in either. f() reads the inputs. In double a right backward gives less than 1e-6;
// float has too few digits to tell: src/INSTALL.md has the line that makes a program in double.
double gradient_error(const std::function<Tensor()>& f, const std::vector<Tensor>& inputs);

void print_tape(std::ostream& out);           // --trace: names, shapes, module paths of all entries
void clear_tape();                  // removes all entries: after a forward without backward
int64_t tape_length();
void set_check_nan(bool on);        // --check-nan: Error at the first operation that produced a NaN

}  // namespace minbert
