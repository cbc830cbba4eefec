// Recording and walking the tape.
#include "engine/tape.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "engine/fill.h"
#include "engine/profile.h"
#include "minbert/random.h"

namespace minbert {
namespace {

std::atomic<bool> check_nan = false;

int64_t bytes_of(const std::vector<std::shared_ptr<Gradient>>& gradients) {
  int64_t elements = 0;
  for (const auto& gradient : gradients) elements += gradient->shape.size();
  return elements * int64_t(sizeof(real));
}

void check_values(const char* what, const char* name, const Tensor& t) {
  std::vector<real> room;
  const std::span<const real> x = t.on_host(room);
  for (size_t i = 0; i < x.size(); ++i)
    MB_CHECK(!std::isnan(x[i]), "{}{}: element {} of {} is NaN", name, what, i, t.shape());
}

}  // namespace

Tape& Tape::current() {
  thread_local Tape tape;
  return tape;
}

Tensor Tape::record(const char* name, Tensor result, const std::vector<Tensor>& inputs,
                    Backward backward, SourceLine formula) {
  std::vector<std::shared_ptr<Gradient>> gradients;
  bool required = false;
  for (const Tensor& input : inputs) {
    gradients.push_back(input.impl_->gradient);
    required |= input.requires_grad();
  }
  const std::shared_ptr<Gradient>& own = result.impl_->gradient;
  if (profile_is_on()) profile_charge(name, "", bytes_of(gradients) + bytes_of({own}));
  if (check_nan) check_values("", name, result);
  if (!enabled || !required) return result;
  own->required = own->recorded = true;
  entries.push_back({name, own, std::move(gradients), std::move(backward), Scope::current()});
  if (trace) keep(result, inputs, formula);
  return result;
}

void Tape::keep(const Tensor& result, const std::vector<Tensor>& inputs, SourceLine formula) const {
  std::vector<Trace::Operation>& all = trace->operations_;
  const Entry& entry = entries.back();
  Trace::Operation operation{entry.name, entry.path ? *entry.path : "", result, {}, inputs,
                             formula};
  for (const Tensor& input : inputs) {
    const auto maker = std::ranges::find_if(all, [&](const auto& o) { return o.result.is(input); });
    operation.inputs.push_back(maker == all.end() ? -1 : int(maker - all.begin()));
  }
  result.retain_grad();
  all.push_back(std::move(operation));
}

void Tape::step_back(Entry& entry) const {
  Gradient& result = *entry.result;
  if (!result.value) return;                        // the loss does not depend on this result
  static const std::string no_module;
  const Scope scope(entry.path ? *entry.path : no_module);
  Grads grads(entry.inputs, !result.retained);
  entry.backward(result.value, grads);
  if (profile_is_on())
    profile_charge(entry.name, " backward", 2 * bytes_of(entry.inputs) + bytes_of({entry.result}));
  if (check_nan)
    for (const auto& input : entry.inputs)
      if (input->required && input->value) check_values(" backward", entry.name, input->value);
  if (!result.retained) result.value = {};
}

void Tape::backward(const Tensor& result, Tensor cotangent) {
  MB_CHECK(result && result.impl_->gradient->recorded,
           "backward: this result is not on the tape. Either backward() has run already (it frees "
           "the tape as it goes; run the forward again), or no input requires a gradient, or it "
           "was computed under NoGrad");
  if (!cotangent) cotangent = Tensor::full(result.shape(), 1, result.device());
  MB_CHECK(cotangent.shape() == result.shape(),
           "backward: the result is {} but its cotangent is {}", result.shape(), cotangent.shape());
  // A copy, since gradients are added to in place and the cotangent belongs to the caller.
  result.impl_->gradient->value = copy_of(cotangent);
  while (!entries.empty()) {
    Entry entry = std::move(entries.back());
    entries.pop_back();
    entry.result->recorded = false;
    try {
      step_back(entry);
    } catch (...) {
      // A failed backward leaves no half-walked tape behind, and no gradients of results on it.
      entry.result->value = {};
      clear();
      throw;
    }
  }
}

void Tape::clear() {
  for (Entry& entry : entries) {
    entry.result->recorded = false;
    entry.result->value = {};
  }
  entries.clear();
}

bool Grads::wants(int input) const { return inputs_[size_t(input)]->required; }

Sink Grads::sink(int input) {
  Gradient& g = *inputs_[size_t(input)];
  if (g.value) return {g.value, true};
  g.value = g.storage ? g.storage : Tensor(g.shape, g.device);
  return {g.value, false};
}

void Grads::pass(int input, const Tensor& dc) {
  if (!wants(input)) return;
  Gradient& g = *inputs_[size_t(input)];
  MB_CHECK(dc.size() == g.shape.size(), "backward: a gradient of {} for a tensor of {}", dc.shape(),
           g.shape);
  if (may_share_ && !g.value && !g.storage) {
    g.value = dc.shape() == g.shape
                  ? dc : Tensor::view(dc.impl_->storage, dc.impl_->offset, g.shape);
    may_share_ = false;                             // one input has it, and alone may add to it
    return;
  }
  const Sink sum = sink(input);
  copy_or_add(dc, sum.tensor, sum.add);
}

Tensor record(const char* name, Tensor result, const std::vector<Tensor>& inputs, Backward backward,
              SourceLine formula) {
  return Tape::current().record(name, std::move(result), inputs, std::move(backward), formula);
}
bool will_record(const Tensor& input) { return Tape::current().enabled && input.requires_grad(); }
void backward(const Tensor& result, Tensor cotangent) {
  Tape::current().backward(result, std::move(cotangent));
  ++DropoutClock::current().step;                      // the next forward draws other masks
}
void clear_tape() { Tape::current().clear(); }
int64_t tape_length() { return int64_t(Tape::current().entries.size()); }
void set_check_nan(bool on) { check_nan = on; }

void print_tape(std::ostream& out) {
  for (const Tape::Entry& entry : Tape::current().entries) {
    out << entry.name << " -> " << entry.result->shape << "  from";
    for (const auto& input : entry.inputs)
      out << ' ' << input->shape << (input->required ? "" : " (no gradient)");
    if (entry.path && !entry.path->empty()) out << "   (" << *entry.path << ')';
    out << '\n';
  }
}

NoGrad::NoGrad() : enabled_(Tape::current().enabled, false) {}
Trace::Trace() : current_(Tape::current().trace, this) {}

}  // namespace minbert
