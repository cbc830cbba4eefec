// The tree of modules, and the flat buffer of parameters.
#include "minbert/module.h"

#include <cmath>

#include "engine/fill.h"
#include "engine/storage.h"
#include "minbert/names.h"

namespace minbert {

const std::vector<std::string>& initialisation_names() {
  static const std::vector<std::string> names = {"normal", "uniform", "xavier", "kaiming"};
  return names;
}

void Module::train(bool on) {
  visit([on](Module& m) { m.training_ = on; });
}

void Module::visit(const std::function<void(Module&)>& f) {
  f(*this);
  for (const auto& [name, module] : children_) module->visit(f);
}

void Module::set_path(const std::string& path) {
  path_ = path;
  for (const auto& [name, module] : children_)
    module->set_path(path.empty() ? name : path + "." + name);
}

Tensor Module::parameter(const std::string& name, Shape shape, Init init, Decay decay) {
  parameters_.push_back({name, Tensor::without_values(shape), init, decay});
  return parameters_.back().value;
}
Tensor Module::buffer(const std::string& name, Tensor value) {
  buffers_.push_back({name, value});
  return value;
}
void Module::child(const std::string& name, Module& module) {
  children_.emplace_back(name, &module);
}

namespace {

// Each parameter begins at a multiple of 64 bytes, however long the one before it is: matrix
// products want it.
int64_t place_for(int64_t elements) {
  constexpr int64_t line = 64 / int64_t(sizeof(real));
  return (elements + line - 1) / line * line;
}

std::shared_ptr<Storage> flat_buffer(int64_t elements) {
  return Storage::exact(elements * int64_t(sizeof(real)), default_device());
}

}  // namespace

Parameters::Parameters(Module& root, Options options) : options_(options) {
  root.set_path("");
  int64_t places = 0;
  root.visit([&](Module& m) {
    for (const Parameter& p : m.own_parameters()) {
      count_ += p.value.size();
      places += place_for(p.value.size());
    }
  });
  const std::shared_ptr<Storage> flat = flat_buffer(places);
  int64_t offset = 0;
  root.visit([&](Module& m) {
    const std::string prefix = m.path().empty() ? "" : m.path() + ".";
    for (const Parameter& p : m.own_parameters()) {
      p.value.place(flat, offset).set_requires_grad(true);
      offset += place_for(p.value.size());
      items_.push_back({prefix + p.name, p.value, p.decay, p.init});
    }
    for (const Buffer& b : m.own_buffers())
      buffers_.push_back({prefix + b.name, b.value, Decay::no});
  });
  for (const Item& item : items_)
    if (options.initialise) initialise(item);
}

// Each row of a matrix [out,in] from its own stream: rows are drawn in parallel, whatever the
// number of threads.
//   normal   N(0, range), truncated at two deviations           Devlin et al. 2019
//   uniform  U(-range, range)
//   xavier   U(-b, b), b = √(6/(in+out))                        Glorot & Bengio 2010, eq. 16
//   kaiming  N(0, √(2/in))                                      He et al. 2015, eq. 10
void Parameters::initialise(const Item& item) const {
  if (item.init != Init::random)
    return fill(item.value, item.init == Init::ones ? real(1) : real(0));
  const int64_t cols = item.value.cols();
  const double in = double(cols), out = double(item.value.rows()),
               range = options_.initializer_range;
  const double b = std::sqrt(6 / (in + out));
  const std::function<double(Random&)> draws[] = {
      [=](Random& r) { return range * r.truncated_normal(); },
      [=](Random& r) { return range * (2 * r.uniform() - 1); },
      [=](Random& r) { return b * (2 * r.uniform() - 1); },
      [=](Random& r) { return std::sqrt(2 / in) * r.normal(); }};
  const auto& draw =
      draws[index_of(options_.initialisation, initialisation_names(), "initialisation")];
  std::vector<real> values(size_t(item.value.size()));
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < item.value.rows(); ++row) {
    Random random(options_.seed, format("init/{}/{}", item.name, row));
    for (int64_t i = 0; i < cols; ++i) values[size_t(row * cols + i)] = real(draw(random));
  }
  item.value.copy_from(values);
}

int64_t Parameters::trainable() const {
  int64_t sum = 0;
  for (const Item& item : items_) sum += item.value.requires_grad() ? item.value.size() : 0;
  return sum;
}

std::vector<Parameters::Item> Parameters::all() const {
  std::vector<Item> list = items_;
  list.insert(list.end(), buffers_.begin(), buffers_.end());
  return list;
}

const Parameters::Item* Parameters::find(const std::string& name) const {
  for (const auto* list : {&items_, &buffers_})
    for (const Item& item : *list)
      if (item.name == name) return &item;
  return nullptr;
}

const Tensor& Parameters::value(const std::string& name) const {
  const Item* item = find(name);
  MB_CHECK(item, "there is no parameter or buffer {}", name);
  return item->value;
}

void Parameters::set_trainable(const std::function<bool(const std::string&)>& learns) const {
  for (const Item& item : items_) {
    item.value.clear_grad();
    item.value.set_grad_storage({});
    item.value.set_requires_grad(learns(item.name));
  }
}

void Parameters::reserve_gradients() const {
  int64_t places = 0, offset = 0;
  for (const Item& item : items_)
    places += item.value.requires_grad() ? place_for(item.value.size()) : 0;
  const std::shared_ptr<Storage> flat = flat_buffer(places);
  for (const Item& item : items_) {
    if (!item.value.requires_grad()) continue;
    item.value.clear_grad();
    item.value.set_grad_storage(Tensor::view(flat, offset, item.value.shape()));
    offset += place_for(item.value.size());
  }
}

void Parameters::clear_gradients() const {
  for (const Item& item : items_) item.value.clear_grad();
}

}  // namespace minbert
