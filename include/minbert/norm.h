// Normalizations of hidden states: one file each in src/norm/hidden, one line each in the table of src/norm/norm.cpp.
#pragma once

#include <memory>
#include <optional>

#include "minbert/module.h"
#include "minbert/ops.h"

namespace minbert {

class Norm : public Module {
 public:
  virtual Tensor forward(const ResidualSum& x, const Batch& batch) const = 0;     // x [T,H] -> [T,H]
  // The same equations in elementary operations: slower, but the text, and the tests' oracle. Running statistics
  // stay as they are.
  virtual Tensor composed(const Tensor& x, const Batch& batch) const = 0;
};

// y = (x - mu) / sqrt(sigma^2 + eps) * gamma + beta                           [CLN eq.1-3]
// mu, sigma^2 over the H features of each row   gamma, beta [H]
class LayerNorm : public Norm {
 public:
  LayerNorm(int64_t hidden, double eps);
  Tensor forward(const ResidualSum& x, const Batch& batch) const override;
  Tensor composed(const Tensor& x, const Batch& batch) const override;

 private:
  double eps_;
  Tensor *weight_, *bias_;
};

struct NormOptions {
  int64_t hidden;                                   // the columns of x
  int64_t tasks;                                    // how many task ids there are; 0: none
  double layer_norm_eps;                            // config.json's, for layer and its closest kin
  std::optional<double> eps = {};                   // of any norm; none: layer_norm_eps, or 1e-5 for the others
  double momentum = 0.1;                            // running = (1 - momentum) running + momentum now
  int64_t groups = 0;                               // of channels; 0: 32, or 16 where hidden < 128
};

enum class Couples { nothing, sentence, batch };    // whose other tokens a token's result in training depends on

struct NormEntry {
  const char *name, *formula, *paper;               // name: as --norm takes it
  const char* over;                                 // what a mean is taken over
  Couples couples;
  bool running_statistics;                          // kept in training, used in evaluation
  const char* parameters;                           // how many, in H and tasks
};
const std::vector<NormEntry>& norm_table();
const char* name_of(Couples couples);               // as the table prints it
bool couples_tokens(const std::string& name);
std::string norm_help();                            // the table as text, for --norm help
std::unique_ptr<Norm> make_norm(const std::string& name, const NormOptions& options);   // Error lists the valid names

}  // namespace minbert
