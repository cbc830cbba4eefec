// Recording and walking the tape.
#include "engine/tape.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "minbert/profile.h"

namespace minbert {
namespace {

std::atomic<bool> check_nan = false;

int64_t bytes_of(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& t : tensors) bytes += t ? t.size() * int64_t(sizeof(real)) : 0;
  return bytes;
}

void check_values(const char* what, const char* name, const Tensor& t) {
  const real* x = t.data();
  for (int64_t i = 0; i < t.size(); ++i)
    MB_CHECK(!std::isnan(x[i]), "{}{}: element {} of {} is NaN", name, what, i, t.shape());
}

}  // namespace

Tape& Tape::mine() {
  thread_local Tape tape;
  return tape;
}

Tensor Tape::record(const char* name, Tensor result, std::vector<Tensor> inputs, Backward backward) {
  if (profile_is_on()) profile_charge(name, "", bytes_of(inputs) + bytes_of({result}));
  if (check_nan) check_values("", name, result);
  if (!enabled) return result;
  if (std::none_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t && t.requires_grad(); })) return result;
  result.impl_->requires_grad = true;
  result.impl_->recorded = true;
  entries.push_back({name, result, std::move(inputs), std::move(backward), Scope::current()});
  return result;
}

void Tape::step_back(Entry& entry) const {
  Tensor::Impl& result = *entry.result.impl_;
  if (!result.grad) return;                         // nothing downstream of it led to the loss
  static const std::string no_module;
  const Scope scope(entry.path ? *entry.path : no_module);
  Grads grads(entry.inputs, !result.retain_grad);
  entry.backward(result.grad, grads);
  if (profile_is_on()) profile_charge(entry.name, " backward", 2 * bytes_of(entry.inputs) + bytes_of({entry.result}));
  if (check_nan)
    for (const Tensor& input : entry.inputs)
      if (input && input.requires_grad() && input.grad()) check_values(" backward", entry.name, input.grad());
  if (!result.retain_grad) result.grad = {};
}

void Tape::backward(const Tensor& result, Tensor cotangent) {
  MB_CHECK(result && result.impl_->recorded,
           "backward: this result is not on the tape. Either backward() has run already (it frees the tape as it "
           "goes; run the forward again), or no input requires a gradient, or it was computed under NoGrad");
  if (!cotangent) cotangent = Tensor::full(result.shape(), 1, result.device());
  MB_CHECK(cotangent.shape() == result.shape(), "backward: the result is {} but its cotangent is {}", result.shape(),
           cotangent.shape());
  result.impl_->grad = Tensor::from(cotangent.shape(), cotangent.values(), cotangent.device());
  while (!entries.empty()) {
    Entry entry = std::move(entries.back());
    entries.pop_back();
    entry.result.impl_->recorded = false;
    try {
      step_back(entry);
    } catch (...) {
      clear();                                      // a failed backward leaves no half-walked tape behind
      throw;
    }
  }
}

void Tape::clear() {
  for (Entry& entry : entries) entry.result.impl_->recorded = false;
  while (!entries.empty()) entries.pop_back();      // from the end: a result never outlives what it was made from
}

Sink Grads::sink(int input) {
  Tensor::Impl& t = *inputs_[size_t(input)].impl_;
  if (t.grad) return {t.grad, true};
  t.grad = t.grad_place ? t.grad_place : Tensor(t.shape, t.storage->device());
  return {t.grad, false};
}

void Grads::pass(int input, const Tensor& dc) {
  if (!wants(input)) return;
  Tensor::Impl& t = *inputs_[size_t(input)].impl_;
  MB_CHECK(dc.size() == t.shape.size(), "backward: a gradient of {} for a tensor of {}", dc.shape(), t.shape);
  if (may_share_ && !t.grad && !t.grad_place) {
    t.grad = dc.shape() == t.shape ? dc : Tensor::at(dc.impl_->storage, dc.impl_->offset, t.shape);
    return;
  }
  const Sink sum = sink(input);
  real* to = sum.to.data();
  const real* from = dc.data();
  for (int64_t i = 0; i < dc.size(); ++i) to[i] = sum.add ? to[i] + from[i] : from[i];
}

void Sink::zero_unless_add() const {
  if (!add) std::fill_n(to.data(), to.size(), real(0));
}

Tensor record(const char* name, Tensor result, std::vector<Tensor> inputs, Backward backward) {
  return Tape::mine().record(name, std::move(result), std::move(inputs), std::move(backward));
}
void backward(const Tensor& result, Tensor cotangent) { Tape::mine().backward(result, std::move(cotangent)); }
void clear_tape() { Tape::mine().clear(); }
int64_t tape_length() { return int64_t(Tape::mine().entries.size()); }
void set_check_nan(bool on) { check_nan = on; }

void print_tape(std::ostream& out) {
  for (const Tape::Entry& entry : Tape::mine().entries) {
    out << entry.name << " -> " << entry.result.shape() << "  from";
    for (const Tensor& input : entry.inputs)
      if (input) out << ' ' << input.shape() << (input.requires_grad() ? "" : " (no gradient)");
    if (entry.path && !entry.path->empty()) out << "   (" << *entry.path << ')';
    out << '\n';
  }
}

NoGrad::NoGrad() : outer_(Tape::mine().enabled) { Tape::mine().enabled = false; }
NoGrad::~NoGrad() { Tape::mine().enabled = outer_; }

}  // namespace minbert
