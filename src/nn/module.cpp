// The tree of modules, and the flat buffer of parameters.
#include "minbert/module.h"

#include <algorithm>
#include <cmath>

#include "engine/fill.h"
#include "engine/flat_buffer.h"
#include "engine/names.h"
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
  for (const auto& [name, module] : children_)
    module->set_path(path.empty() ? name : path + "." + name);
}

Tensor Module::parameter(const std::string& name, Shape shape, Init init, Decay decay) {
  parameters_.push_back({name, FlatBuffer::without_values(shape), init, decay});
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
bool learns(const Parameter& p) { return p.value.requires_grad(); }
std::vector<Tensor> values_of(const std::vector<Parameter>& list) {
  std::vector<Tensor> values;
  for (const Parameter& p : list) values.push_back(p.value);
  return values;
}
}  // namespace

Parameters::Parameters(Module& root, Options options) : options_(options) {
  root.set_path("");
  root.visit([&](Module& m) {
    const std::string prefix = m.path().empty() ? "" : m.path() + ".";
    for (const Parameter& p : m.own_parameters())
      items_.push_back({prefix + p.name, p.value, p.init, p.decay});
    for (const Parameter& b : m.own_buffers()) buffers_.push_back({prefix + b.name, b.value});
  });
  FlatBuffer::of_values(values_of(items_));
  for (const Parameter& p : items_) {
    p.value.set_requires_grad(true);
    if (options.initialise) initialise(p);
  }
}

namespace {

// An element of a matrix [out,in].
using Draw = double (*)(Random& r, double in, double out, double range);

// N(0, range), truncated at two deviations                     Devlin et al. 2019
double normal(Random& r, double, double, double range) { return range * r.truncated_normal(); }
// U(-range, range)
double uniform(Random& r, double, double, double range) { return range * (2 * r.uniform() - 1); }
// U(-b, b), b = √(6/(in+out))                                  Glorot & Bengio 2010, eq. 16
double xavier(Random& r, double in, double out, double) {
  const double b = std::sqrt(6 / (in + out));
  return b * (2 * r.uniform() - 1);
}
// N(0, √(2/in))                                                He et al. 2015, eq. 10
double kaiming(Random& r, double in, double, double) { return std::sqrt(2 / in) * r.normal(); }

Draw draw_of(Initialisation initialisation, bool beside_relu) {
  switch (initialisation) {
    case Initialisation::normal: return normal;
    case Initialisation::uniform: return uniform;
    case Initialisation::xavier: return xavier;
    case Initialisation::kaiming: return kaiming;
    case Initialisation::xavier_kaiming: return beside_relu ? kaiming : xavier;       // [NT init]
  }
  fail("unknown initialisation");
}

}  // namespace

// Each row of a matrix is drawn from its own stream: the same for any number of threads.
void Parameters::initialise(const Parameter& p) const {
  if (p.init == Init::zeros || p.init == Init::ones)
    return fill(p.value, p.init == Init::ones ? real(1) : real(0));
  const Draw draw = draw_of(options_.initialisation, p.init == Init::random_relu);
  const int64_t cols = p.value.cols();
  const double in = double(cols), out = double(p.value.rows()),
               range = options_.initializer_range;
  std::vector<real> values(size_t(p.value.size()));
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < p.value.rows(); ++row) {
    Random random(options_.seed, formatted("init/{}/{}", p.name, row));
    for (int64_t i = 0; i < cols; ++i)
      values[size_t(row * cols + i)] = real(draw(random, in, out, range));
  }
  p.value.copy_from(values);
}

int64_t Parameters::count() const {
  int64_t sum = 0;
  for (const Parameter& p : items_) sum += p.value.size();
  return sum;
}

int64_t Parameters::trainable() const {
  int64_t sum = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    if (!learns(items_[i])) continue;
    const auto mixed = mixed_.find(i);
    sum += mixed == mixed_.end() ? items_[i].value.size() : mixed->second.learning;
  }
  return sum;
}

std::vector<Parameter> Parameters::all() const {
  std::vector<Parameter> list = items_;
  list.insert(list.end(), buffers_.begin(), buffers_.end());
  return list;
}

const Tensor& Parameters::value(const std::string& name) const {
  for (const auto* list : {&items_, &buffers_})
    for (const Parameter& p : *list)
      if (p.name == name) return p.value;
  fail("there is no parameter or buffer " + name);
}

void Parameters::set_trainable(const std::function<bool(const std::string&)>& wanted) {
  mixed_.clear();
  ++trainable_version_;
  gradients_ = {};
  for (const Parameter& p : items_) {
    p.value.zero_grad();
    FlatBuffer::set_gradient(p.value, {});
    p.value.set_requires_grad(wanted(p.name));
  }
}

void Parameters::set_trainable(const std::map<std::string, Mask>& masks) {
  std::map<std::string, int64_t> learning;
  for (const Parameter& p : items_) {
    const auto mask = masks.find(p.name);
    MB_CHECK(mask != masks.end(), "there is no mask for the parameter {}", p.name);
    MB_CHECK(int64_t(mask->second.size()) == p.value.size(),
             "the mask of {} has {} elements, not {}", p.name, mask->second.size(), p.value.size());
    learning[p.name] = p.value.size() - std::ranges::count(mask->second, 0);
  }
  set_trainable([&](const std::string& name) { return learning.at(name) > 0; });
  for (size_t i = 0; i < items_.size(); ++i) {
    const Parameter& p = items_[i];
    const int64_t ones = learning.at(p.name);
    if (ones == 0 || ones == p.value.size()) continue;
    const Mask& mask = masks.at(p.name);
    mixed_[i] = {Storage::copy_of(mask.data(), p.value.size(), p.value.device()), ones};
  }
}

const uint8_t* Parameters::mask(size_t i) const {
  const auto mixed = mixed_.find(i);
  return mixed == mixed_.end() ? nullptr : static_cast<const uint8_t*>(mixed->second.bytes->data());
}

void Parameters::reserve_gradients() const {
  std::vector<Parameter> list;
  std::ranges::copy_if(items_, std::back_inserter(list), learns);
  gradients_ = FlatBuffer::of_gradients(values_of(list));
}

const Tensor& Parameters::gradients() const {
  MB_CHECK(gradients_, "gradients: these have no buffer; call reserve_gradients() first");
  for (const Parameter& p : items_)
    if (learns(p)) FlatBuffer::complete_gradient(p.value);
  return gradients_;
}

void Parameters::zero_grad() const {
  for (const Parameter& p : items_) p.value.zero_grad();
}

}  // namespace minbert
