// Normalizations of hidden states. Each is one file of src/norm/hidden: its class, its equation,
// its options and its entry in the table; src/norm/norm.cpp lists them, one line each.
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
  // The same equations in elementary operations: slower, to be read, and the reference of the
  // tests. Does not change running statistics.
  virtual Tensor composed(const Tensor& x, const Batch& batch) const = 0;

 protected:
  virtual Tensor forward(const Tensor& x, const Batch& batch) const = 0;
};

// A norm whose result is scaled by γ and shifted by β, both [H]. They begin as 1 and 0, or as a
// checkpoint has them.
class AffineNorm : public Norm {
 protected:
  AffineNorm(int64_t hidden, double eps);
  double eps_;
  Tensor weight_, bias_;
};

// The other tokens that affect a token's result in training: none, its sentence's, the batch's.
enum class Couples { nothing, sentence, batch };

struct NormEntry {
  const char *name, *formula, *paper = "";      // name: as --norm takes it
  const char* over;                             // the elements of one mean
  Couples couples = Couples::nothing;
  bool running_statistics = false;              // kept in training, used in evaluation
  const char* parameters;                       // how many, in H and tasks
  std::vector<NormOption> options = {};
  std::unique_ptr<Norm> (*make)(const NormOptions&);
};
template <class N>
std::unique_ptr<Norm> new_norm(const NormOptions& o) {             // for NormEntry::make
  return std::make_unique<N>(o);
}
const std::vector<NormEntry>& norm_table();
const NormEntry& find_norm(const std::string& norm);    // by its name. Error lists the valid names
const char* name_of(Couples couples);           // as the table prints it
std::string norm_help();                        // the table as text, for --norm help
void check_norm(const std::string& norm);       // Error for a name or an option that does not exist
// norm: a name of the table, with options or without: "group:groups=8". Errors: those of
// check_norm; sizes that do not fit.
std::unique_ptr<Norm> make_norm(const std::string& norm, NormOptions options);

// The option eps of norms whose default is layer_norm_eps of config.json.
inline const NormOption layer_norm_eps = {"eps", "layer_norm_eps"};

}  // namespace minbert
