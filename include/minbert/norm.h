// Normalizations of hidden states. Each is one file of src/norm/hidden: its class, its equation, its options and its
// entry in the table; src/norm/norm.cpp lists them, one line each.
#pragma once

#include <memory>

#include "minbert/module.h"
#include "minbert/norm_options.h"
#include "minbert/ops.h"

namespace minbert {

class Norm : public Module {
 public:
  Tensor operator()(const Tensor& x, const Batch& batch) const {           // x [T,H] -> [T,H]
    const Scope scope(path());
    return forward(x, batch);
  }
  // The same equations in elementary operations: slower, but the text, and the tests' oracle. Running statistics
  // stay as they are.
  virtual Tensor composed(const Tensor& x, const Batch& batch) const = 0;

 protected:
  virtual Tensor forward(const Tensor& x, const Batch& batch) const = 0;
};

// A norm whose result is scaled by γ and shifted by β, both [H]. They begin as 1 and 0, or as a checkpoint has them.
class AffineNorm : public Norm {
 protected:
  AffineNorm(int64_t hidden, double eps);
  double eps_;
  Tensor weight_, bias_;
};

enum class Couples { nothing, sentence, batch };    // whose other tokens a token's result in training depends on

struct NormEntry {
  const char *name, *formula, *paper = "";          // name: as --norm takes it
  const char* over;                                 // what a mean is taken over
  Couples couples = Couples::nothing;
  bool running_statistics = false;                  // kept in training, used in evaluation
  const char* parameters;                           // how many, in H and tasks
  std::vector<NormOption> options = {};
  std::unique_ptr<Norm> (*make)(const NormOptions&);
};
const std::vector<NormEntry>& norm_table();
const NormEntry& find_norm(const std::string& norm);             // by its name. Error lists the valid names
const char* name_of(Couples couples);               // as the table prints it
std::string norm_help();                            // the table as text, for --norm help
void check_norm(const std::string& norm);           // Error for a name or an option that does not exist
// norm: a name of the table, with options or without: "group:groups=8". Errors: those of check_norm; sizes that do not
// fit.
std::unique_ptr<Norm> make_norm(const std::string& norm, NormOptions options);

// eps of a norm whose default is layer_norm_eps of config.json.
inline const NormOption layer_norm_eps = {"eps", "layer_norm_eps"};

}  // namespace minbert
