// The tree of modules, and the flat buffer of parameters.
#include "minbert/module.h"

#include "engine/storage.h"

namespace minbert {

void Module::train(bool on) {
  visit([on](Module& m) { m.training_ = on; });
}

void Module::visit(const std::function<void(Module&)>& f) {
  f(*this);
  for (const auto& [name, module] : children_) module->visit(f);
}

void Module::set_path(const std::string& path) {
  path_ = path;
  for (const auto& [name, module] : children_) module->set_path(path.empty() ? name : path + "." + name);
}

Tensor& Module::parameter(const std::string& name, Shape shape, Init init, Decay decay) {
  return parameters_.emplace_back(Parameter{name, shape, init, decay, {}}).value;
}
Tensor& Module::buffer(const std::string& name, Tensor value) {
  return buffers_.emplace_back(Buffer{name, std::move(value)}).value;
}
void Module::child(const std::string& name, Module& module) { children_.emplace_back(name, &module); }

namespace {

// Drawn on the host from the parameter's own stream, so that it depends on the seed and its name alone.
void initialise(const Tensor& value, Init init, const std::string& name, const Parameters::Options& options) {
  std::vector<real> values(size_t(value.size()), init == Init::ones ? real(1) : real(0));
  Random random(options.seed, "init/" + name);
  if (init == Init::normal)
    for (real& v : values) v = real(options.initializer_range * random.truncated_normal());
  value.copy_from(values);
}

std::shared_ptr<Storage> flat_buffer(int64_t elements) {
  return Storage::exact(elements * int64_t(sizeof(real)), Device::cpu);
}

}  // namespace

Parameters::Parameters(Module& root, Options options) {
  root.set_path("");
  root.visit([&](Module& m) {
    for (const Parameter& p : m.own_parameters()) count_ += p.shape.size();
  });
  const std::shared_ptr<Storage> flat = flat_buffer(count_);
  int64_t offset = 0;
  std::vector<Init> inits;
  root.visit([&](Module& m) {
    const std::string prefix = m.path().empty() ? "" : m.path() + ".";
    for (Parameter& p : m.own_parameters()) {
      p.value = Tensor::at(flat, offset, p.shape);
      offset += p.shape.size();
      items_.push_back({prefix + p.name, p.value, p.decay});
      inits.push_back(p.init);
    }
    for (const Buffer& b : m.own_buffers()) buffers_.push_back({prefix + b.name, b.value, Decay::no});
  });
#pragma omp parallel for schedule(dynamic)
  for (size_t i = 0; i < items_.size(); ++i) initialise(items_[i].value, inits[i], items_[i].name, options);
}

int64_t Parameters::trainable() const {
  int64_t sum = 0;
  for (const Item& item : items_) sum += item.value.requires_grad() ? item.value.size() : 0;
  return sum;
}

const Parameters::Item* Parameters::find(const std::string& name) const {
  for (const auto* list : {&items_, &buffers_})
    for (const Item& item : *list)
      if (item.name == name) return &item;
  return nullptr;
}

void Parameters::set_trainable(const std::function<bool(const std::string&)>& learns) {
  for (Item& item : items_) item.value.set_requires_grad(learns(item.name));
  const std::shared_ptr<Storage> flat = flat_buffer(trainable());
  int64_t offset = 0;
  for (const Item& item : items_) {
    item.value.clear_grad();
    if (!item.value.requires_grad()) continue;
    item.value.set_grad_storage(Tensor::at(flat, offset, item.value.shape()));
    offset += item.value.size();
  }
}

void Parameters::clear_gradients() const {
  for (const Item& item : items_) item.value.clear_grad();
}

DropoutClock& DropoutClock::mine() {
  thread_local DropoutClock clock;
  return clock;
}

}  // namespace minbert
