// Memory for time: part of a network keeps its input alone, and runs again when its backward comes.
//
//   Paper  Chen, Xu, Zhang & Guestrin 2016, Training Deep Nets with Sublinear Memory Cost
//   Cost   a step is one part forward and two parts backward (two products for each product of the
//          forward); here it is four parts instead of three. One layer at a time has its
//          activations in memory.
#include <atomic>

#include "engine/tape.h"

namespace minbert {
namespace {

std::atomic<bool> recompute_on = false;

// While it lives, the tape is empty; the entries of before come back at its end.
class InnerTape {
 public:
  ~InnerTape() { Tape::current().clear(); }

 private:
  While<std::vector<Tape::Entry>> entries_{Tape::current().entries, {}};
  While<Trace*> trace_{Tape::current().trace, nullptr};
  While<bool> enabled_{Tape::current().enabled, true};
};

}  // namespace

void set_recompute(bool on) { recompute_on = on; }
bool recomputes() { return recompute_on; }

Tensor recompute(const Tensor& x, const std::function<Tensor(const Tensor&)>& part) {
  if (!recompute_on || !will_record(x)) return part(x);
  Tensor y;
  {
    const NoGrad keeps_nothing;
    y = part(x);
  }
  return record("recompute", y, {x}, [x, part](const Tensor& dy, Grads& g) {
    Tensor dx;
    {
      const InnerTape tape;
      const Tensor again =
          record("recompute", x.detach(), {x}, [&dx](const Tensor& d, Grads&) { dx = d; });
      Tape::current().backward(part(again), dy);         // the parameters' gradients, and that of x
    }
    if (dx) g.pass(0, dx);
  });
}

}  // namespace minbert
