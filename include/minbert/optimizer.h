// Optimizers over the flat parameters of a model, and the learning rate's schedule.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "minbert/module.h"

namespace minbert {

enum class OptimizerKind { adamw, adamw_course, sgd };
enum class Schedule { linear, constant };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  // What AdamW's moving mean of g keeps at a step, 0 to below 1
  double beta1 = 0.9;
  // What AdamW's moving mean of g² keeps at a step, 0 to below 1
  double beta2 = 0.999;
  // What AdamW adds to the root of the mean of g²
  double eps = 1e-6;
  // The decay of all weights but biases and norms; 0: none
  double weight_decay = 0;
  // What SGD keeps of its last step, 0 to below 1
  double momentum = 0;
  // A parameter's factor on the learning rate, for groups with rates of their own; none: 1
  std::function<double(const std::string& name)> rate = {};
};

// One step:
//   adamw         p -= lr wd p;  m, v moving means of g, g^2;  p -= lr mhat / (sqrt(vhat) + eps)
//                 (Loshchilov & Hutter 2019)
//   adamw_course  the course's form: the bias correction in the step size, the decay after the step
//   sgd           b = momentum b + g + wd p;  p -= lr b   (PyTorch's form)
// A parameter that got no gradient since the last step is left alone, and so are its moments: the
// heads of other tasks. A gradient of zeros counts as a gradient: conditional LayerNorm's
// task_weight and task_bias [tasks,H] get gradients from every batch, 0 in the rows of other tasks,
// and AdamW (or SGD's momentum) moves these on by their moments. The gradient of an element that a
// mask freezes is made 0, so that its moments stay 0 and nothing moves it; a parameter with such a
// mask has no weight decay.
class Optimizer {
 public:
  // Keeps a reference to the parameters.
  Optimizer(const Parameters& parameters, OptimizerOptions options);
  Optimizer(const Parameters&&, OptimizerOptions) = delete;     // they must outlive it

  // Takes the Euclidean norm of all gradients. Where max_norm > 0 and the norm is larger, the next
  // step scales them down to it.
  void clip(double max_norm);
  double gradient_norm() const { return double(norm_.item()); }  // of the last clip(); GPU: waits
  // Moves the parameters one step against their gradients, and clears these. Errors: no parameter
  // has one, since backward() did not run; what learns was chosen anew (set_trainable) after this
  // Optimizer was made.
  void step(double learning_rate);

  // What a checkpoint must keep: moments (flat, over trainable parameters) and each parameter's
  // steps.
  std::vector<std::pair<std::string, Tensor>> moments() const;
  std::vector<int64_t>& steps() { return steps_; }

 private:
  void freeze() const;                              // by the masks of Parameters
  const Parameters& parameters_;
  OptimizerOptions options_;
  Tensor first_, second_;                           // m and v; b of SGD is first_
  Tensor norm_, factor_;            // [1] the gradients' norm, and what they are multiplied by
  std::vector<int64_t> offsets_, steps_;            // of each parameter
  Indices piece_of_, piece_number_;         // of each piece: its parameter, its number there
  int trainable_version_;                           // of Parameters, when this was made
};

// The factor on the learning rate at step k of 0 .. steps-1. Over the first w steps, the share
// warmup_fraction of them, it is (k+1) / (w+1). Then linear: down to 0 after the last step
// [TA sec.5.1]; constant: 1.
double schedule_factor(Schedule schedule, int64_t step, int64_t steps, double warmup_fraction);

}  // namespace minbert
