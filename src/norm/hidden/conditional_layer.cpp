// Conditional LayerNorm: a LayerNorm whose gain and bias depend on the task.
//
//   Paper       Improving minBERT with Conditional Layer Normalization
//   Equation    y = x̂ ⊙ (γ + γ_t) + (β + β_t)                                        [CLN eq.4]
//   Shapes      x, y [T,H]   γ, β [H]   γ_t, β_t [tasks,H]   t [T], the task of each row
//   Starts as   plain LayerNorm (γ_t = β_t = 0), so pre-trained weights mean what they meant.
//   Gradients   rows of task t alone contribute to γ_t and β_t. Yet γ_t [tasks,H] is one parameter:
//               while one task trains, AdamW still moves the others' γ_t and β_t, by their moments,
//               as in PyTorch (optimizer.h).
//   Deviations  the text says "standard deviation"; the formula's √(σ²+ε) is what we compute.
#include "norm/hidden/hidden.h"

namespace minbert {
namespace {

class ConditionalLayerNorm : public Norm {
 public:
  ConditionalLayerNorm(int64_t hidden, int64_t tasks, double eps) : eps_(eps) {
    MB_CHECK(tasks > 0, "conditional-layer: a norm for {} tasks; name the tasks with --tasks", tasks);
    weight_      = &parameter("weight",      {hidden},        Init::ones,  Decay::no);
    bias_        = &parameter("bias",        {hidden},        Init::zeros, Decay::no);
    task_weight_ = &parameter("task_weight", {tasks, hidden}, Init::zeros, Decay::no);
    task_bias_   = &parameter("task_bias",   {tasks, hidden}, Init::zeros, Decay::no);
  }

  // Without a task it is plain LayerNorm. With one, row i takes the gain and bias of its task: the same kernel,
  // G = tasks. Error: a task id outside of 0..tasks-1.
  Tensor forward(const ResidualSum& x, const Batch& batch) const override {
    const Scope scope(path());
    if (!batch.row_task) return layer_norm(x, *weight_, *bias_, eps_);                // [CLN eq.1-3]
    const Tensor gain = add(*task_weight_, *weight_);                                 // γ + γ_t   [tasks,H]
    const Tensor bias = add(*task_bias_, *bias_);                                     // β + β_t   [tasks,H]
    return layer_norm(x, gain, bias, eps_, batch.row_task);                           // [CLN eq.4]
  }

  Tensor composed(const Tensor& x, const Batch& batch) const override {
    const Tensor centered = sub(x, mean_rows(x));
    const Tensor xhat = mul(centered, inverse_root_composed(mean_rows(square(centered)), eps_));
    if (!batch.row_task) return add(mul(xhat, *weight_), *bias_);
    const Tensor gain = gather_rows(add(*task_weight_, *weight_), batch.row_task);    // γ + γ_t   [T,H]
    const Tensor bias = gather_rows(add(*task_bias_, *bias_), batch.row_task);        // β + β_t   [T,H]
    return add(mul(xhat, gain), bias);
  }

 private:
  double eps_;
  Tensor *weight_, *bias_, *task_weight_, *task_bias_;
};

}  // namespace

std::unique_ptr<Norm> make_conditional_layer(const NormOptions& o) {
  return std::make_unique<ConditionalLayerNorm>(o.hidden, o.tasks, layer_eps(o));
}

}  // namespace minbert
