// Modules: named parameters and buffers in a tree, and the flat buffer in which all parameters of a
// model live.
//
//   struct Linear : Module {
//     Linear(in, out) : weight_(parameter("weight", {out, in}, Init::random)), ...
//   };
//   Linear linear(3, 4);
//   Parameters parameters(linear, {.seed = 11711});   // each parameter's memory, name, first value
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "minbert/autograd.h"
#include "minbert/random.h"

namespace minbert {

// The first values of a parameter. random: drawn as Parameters::Options say; random_relu: the same,
// of a matrix beside a ReLU.
enum class Init { zeros, ones, random, random_relu };
enum class Initialisation { normal, uniform, xavier, kaiming, xavier_kaiming };   // module.cpp
enum class Decay { yes, no };                       // does weight decay apply?

// name: of a module "weight"; of Parameters with its path, "bert.pooler.dense.weight". A buffer is
// saved with the model, but not trained: running statistics.
struct Parameter {
  std::string name;
  Tensor value;      // without values until Parameters is made
  Init init = Init::zeros;
  Decay decay = Decay::no;
};

// One number for each element of a parameter: 1 where it learns, 0 where it is frozen
using Mask = std::vector<uint8_t>;

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;                   // parents hold their children's addresses
  Module& operator=(const Module&) = delete;

  // "bert.encoder.layer.3.output.dense"; set by Parameters
  const std::string& path() const { return path_; }
  bool training() const { return training_; }
  // With all children. A new module is in training mode, as in PyTorch. Off: no dropout, and norms
  // use their running statistics.
  void train(bool on = true);
  // This module and all below, in order of registration
  void visit(const std::function<void(Module&)>& f);
  const std::vector<Parameter>& own_parameters() const { return parameters_; }
  const std::vector<Parameter>& own_buffers() const { return buffers_; }
  void set_path(const std::string& path);           // with all children
  void child(const std::string& name, Module& module);   // "self.query"; without it, never trained

 protected:
  Tensor parameter(const std::string& name, Shape shape, Init init, Decay decay = Decay::yes);
  Tensor buffer(const std::string& name, Tensor value);

 private:
  std::string path_;
  bool training_ = true;
  std::vector<Parameter> parameters_, buffers_;
  std::vector<std::pair<std::string, Module*>> children_;
};

// A member that makes itself a child, so that this cannot be forgotten:
//   struct Head : Module { Child<Linear> dense{this, "dense", 768, 2}; };
template <class M>
class Child : public M {
 public:
  template <class... Arguments>
  Child(Module* parent, const std::string& name, Arguments&&... arguments)
      : M(std::forward<Arguments>(arguments)...) {
    parent->child(name, *this);
  }
};

// All parameters of a model, in one flat buffer of exact size. A gradient is a tensor of its own,
// made by backward(); where gradients of several parts are added up, they lie in a buffer, too.
class Parameters {
 public:
  struct Options {
    // The seed of the first values
    uint64_t seed = 11711;
    // The deviation of Initialisation::normal, the bound of uniform; above 0
    double initializer_range = 0.02;
    // How Init::random draws
    Initialisation initialisation = Initialisation::normal;
    // false: load_weights does it where it must
    bool initialise = true;
  };
  Parameters(Module& root, Options options);
  // Gives a parameter its first value, which depends on the seed and its name alone.
  void initialise(const Parameter& parameter) const;

  const std::vector<Parameter>& items() const { return items_; }
  const std::vector<Parameter>& buffers() const { return buffers_; }
  std::vector<Parameter> all() const;               // both: what a checkpoint holds
  int64_t count() const;                            // numbers in all parameters
  int64_t trainable() const;                        // and of these, those that learn
  // The parameter or buffer of this name. Error where there is none
  const Tensor& value(const std::string& name) const;

  // Every parameter learns unless this says otherwise; one that does not gets no gradient at all.
  // Before the Optimizer is made: its step() is an error otherwise.
  void set_trainable(const std::function<bool(const std::string& name)>& learns);
  // Element by element: every parameter has a mask under its name. Without a 1 in it, the parameter
  // does not learn; where 0 and 1 are mixed it gets a whole gradient, and the optimizer leaves its
  // frozen elements alone. Error for a mask that is missing or of another size.
  void set_trainable(const std::map<std::string, Mask>& masks);
  // The mask of items()[i] on its device; nullptr where all of its elements learn, or none does
  const uint8_t* mask(size_t i) const;
  // From now on the gradients of all that learn lie in one buffer, which they keep between steps:
  // the model takes more memory in forward, and all gradients can be added up and sent as one.
  void reserve_gradients() const;
  // Returns that buffer; error without one. A parameter that backward has not reached since the
  // last step gets the gradient 0.
  const Tensor& gradients() const;
  void zero_grad() const;

 private:
  Options options_;
  std::vector<Parameter> items_, buffers_;
  mutable Tensor gradients_;
  struct Mixed {                                    // a mask with both 0 and 1
    std::shared_ptr<Storage> bytes;
    int64_t learning;                               // elements
  };
  std::map<size_t, Mixed> mixed_;                   // by the index in items_
  int trainable_version_ = 0;                       // counts the calls of set_trainable
  friend class Optimizer;
};

}  // namespace minbert
