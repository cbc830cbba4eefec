// Normalizations of hidden states: one file each in src/norm, one line each in the table of src/norm/norm.cpp.
#pragma once

#include <memory>

#include "minbert/module.h"
#include "minbert/ops.h"

namespace minbert {

class Norm : public Module {
 public:
  virtual Tensor forward(const Tensor& x, const Batch& batch) const = 0;     // x [T,H] -> [T,H]
};

// y = (x - mu) / sqrt(sigma^2 + eps) * gamma + beta                           [CLN eq.1-3]
// mu, sigma^2 over the H features of each row   gamma, beta [H]
class LayerNorm : public Norm {
 public:
  LayerNorm(int64_t hidden, double eps);
  Tensor forward(const Tensor& x, const Batch& batch) const override;

 private:
  double eps_;
  Tensor *weight_, *bias_;
};

// y = xhat * (gamma + gamma_t) + (beta + beta_t), t the task of the row       [CLN eq.4]
// xhat = (x - mu) / sqrt(sigma^2 + eps)   gamma, beta [H]   gamma_t, beta_t [tasks,H], 0 at the start
// A batch without tasks gets plain LayerNorm. Errors: no tasks at all; a task id outside of 0..tasks-1.
class ConditionalLayerNorm : public Norm {
 public:
  ConditionalLayerNorm(int64_t hidden, int64_t tasks, double eps);
  Tensor forward(const Tensor& x, const Batch& batch) const override;

 private:
  double eps_;
  Tensor *weight_, *bias_, *task_weight_, *task_bias_;
};

// The composed form: the text of the equations in elementary operations. It is the tests' oracle.
Tensor layer_norm_composed(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps);

struct NormEntry {
  const char *name, *formula, *paper;               // name: as --norm takes it
};
struct NormOptions {
  int64_t hidden;
  int64_t tasks;                                    // how many task ids there are; 0: none
  double eps;
};
const std::vector<NormEntry>& norm_table();
std::unique_ptr<Norm> make_norm(const std::string& name, const NormOptions& options);   // Error lists the valid names

}  // namespace minbert
