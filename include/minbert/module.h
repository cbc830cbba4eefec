// Modules: named parameters and buffers in a tree, and the flat buffer in which all parameters of a
// model live.
//
//   struct Linear : Module {
//     Linear(in, out) : weight_(parameter("weight", {out, in}, Init::random)), ...
//   };
//   Linear linear(3, 4);
//   Parameters parameters(linear, {.seed = 11711});   // each parameter's place, name, first value
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "minbert/autograd.h"
#include "minbert/random.h"

namespace minbert {

enum class Init { zeros, ones, random };            // random: as Parameters::Options say
const std::vector<std::string>& initialisation_names();          // normal, uniform, xavier, kaiming
enum class Decay { yes, no };                       // does weight decay apply?

struct Parameter {
  std::string name;  // "weight"; its full name is the module's path and this
  Tensor value;      // without values until Parameters has given it a place
  Init init;
  Decay decay;
};
// Saved with the model, not trained: running statistics
struct Buffer {
  std::string name;
  Tensor value;
};

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;                   // parents hold their children's addresses
  Module& operator=(const Module&) = delete;

  // "bert.encoder.layer.3.output.dense"; set by Parameters
  const std::string& path() const { return path_; }
  bool training() const { return training_; }
  // With all children. Off, as at first: no dropout, and running statistics are used.
  void train(bool on = true);
  // This module and all below, in order of registration
  void visit(const std::function<void(Module&)>& f);
  const std::vector<Parameter>& own_parameters() const { return parameters_; }
  const std::vector<Buffer>& own_buffers() const { return buffers_; }
  void set_path(const std::string& path);           // with all children

 protected:
  Tensor parameter(const std::string& name, Shape shape, Init init, Decay decay = Decay::yes);
  Tensor buffer(const std::string& name, Tensor value);
  void child(const std::string& name, Module& module);   // name: may have dots, "self.query"

 private:
  std::string path_;
  bool training_ = false;
  std::vector<Parameter> parameters_;
  std::vector<Buffer> buffers_;
  std::vector<std::pair<std::string, Module*>> children_;
};

// All parameters of a model, in one flat buffer of exact size; their gradients, for an Optimizer,
// in another.
class Parameters {
 public:
  struct Item {
    std::string name;                               // "bert.pooler.dense.weight"
    Tensor value;
    Decay decay;
    Init init = Init::zeros;
  };
  struct Options {
    uint64_t seed = 11711;
    double initializer_range = 0.02;                // of normal and uniform
    // How Init::random is drawn; module.cpp has the formulas
    std::string initialisation = "normal";
    // False: load_weights follows and does it where it must
    bool initialise = true;
  };
  Parameters(Module& root, Options options);
  // Its first value: a function of the seed and its name alone
  void initialise(const Item& item) const;

  const std::vector<Item>& items() const { return items_; }
  const std::vector<Item>& buffers() const { return buffers_; }
  // Parameters, then buffers: what a checkpoint holds
  std::vector<Item> all() const;
  int64_t count() const { return count_; }          // numbers in all parameters
  int64_t trainable() const;
  // Parameter or buffer; nullptr where there is none
  const Item* find(const std::string& name) const;
  const Tensor& value(const std::string& name) const;            // Error where there is none

  // Every parameter learns unless this says otherwise; one that does not gets no gradient at all.
  void set_trainable(const std::function<bool(const std::string& name)>& learns) const;
  // One flat buffer for the gradients of all that learn
  void reserve_gradients() const;
  void clear_gradients() const;

 private:
  Options options_;
  std::vector<Item> items_, buffers_;
  int64_t count_ = 0;
};

}  // namespace minbert
