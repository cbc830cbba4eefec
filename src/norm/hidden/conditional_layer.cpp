// Conditional LayerNorm: a LayerNorm whose gain and bias depend on the task.
//
//   Paper       Improving minBERT with Conditional Layer Normalization
//   Equation    y = x̂ ⊙ (γ + γ_t) + (β + β_t)                                        [CLN eq.4]
//   Shapes      x, y [T,H]   γ, β [H]   γ_t, β_t [tasks,H]   t [T], the task of each row
//   Starts as   plain LayerNorm (γ_t = β_t = 0), so pre-trained weights mean what they meant.
//   Gradients   task t's parameters see the rows of task t only.
//   Deviations  the text says "standard deviation"; the formula's √(σ²+ε) is what we compute.
#include "minbert/norm.h"

namespace minbert {

ConditionalLayerNorm::ConditionalLayerNorm(int64_t hidden, int64_t tasks, double eps) : eps_(eps) {
  MB_CHECK(tasks > 0, "conditional-layer: a norm for {} tasks; name the tasks with --tasks", tasks);
  weight_      = &parameter("weight",      {hidden},        Init::ones,  Decay::no);
  bias_        = &parameter("bias",        {hidden},        Init::zeros, Decay::no);
  task_weight_ = &parameter("task_weight", {tasks, hidden}, Init::zeros, Decay::no);
  task_bias_   = &parameter("task_bias",   {tasks, hidden}, Init::zeros, Decay::no);
}

// Without a task it is plain LayerNorm. With one, row i takes the gain and bias of its task: the same kernel,
// G = tasks.
Tensor ConditionalLayerNorm::forward(const Tensor& x, const Batch& batch) const {
  const Scope scope(path());
  if (!batch.row_task) return layer_norm(x, *weight_, *bias_, eps_);                // [CLN eq.1-3]
  const Tensor gain = add(*task_weight_, *weight_);                                 // γ + γ_t   [tasks,H]
  const Tensor bias = add(*task_bias_, *bias_);                                     // β + β_t   [tasks,H]
  return layer_norm(x, gain, bias, eps_, batch.row_task);                           // [CLN eq.4]
}

}  // namespace minbert
