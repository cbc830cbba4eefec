// Conditional LayerNorm: a LayerNorm whose weight and bias depend on the task.
//
//   Paper       Improving minBERT with Conditional Layer Normalization
//   Equation    y = x̂ ⊙ (γ + γ_t) + (β + β_t)                                        [CLN eq.4]
//   Shapes      x, y [T,H]   γ, β [H]   γ_t, β_t [tasks,H]   t [T], the task of each row
//   Starts as   plain LayerNorm (γ_t = β_t = 0), so pre-trained weights mean what they meant.
//   Gradients   rows of task t alone contribute to γ_t and β_t. Yet γ_t [tasks,H] is one parameter:
//               while one task trains, AdamW still moves the others' γ_t and β_t, by their moments,
//               as in PyTorch (optimizer.h).
//   Deviations  the text says "standard deviation"; the formula's √(σ²+ε) is what we compute.
//   Plain       layer_norm in examples/plain_bert.cpp
#include "norm/entries.h"

namespace minbert {

struct ConditionalLayerNorm : AffineNorm {
  // Two tables more [CLN fact.parameters], of zeros: it starts as LayerNorm [CLN fact.start].
  explicit ConditionalLayerNorm(const NormOptions& o)
      : AffineNorm(o),
        task_weight_(parameter("task_weight", {o.tasks, o.hidden}, Init::zeros, Decay::no)),
        task_bias_(parameter("task_bias", {o.tasks, o.hidden}, Init::zeros, Decay::no)) {}

  Tensor composed(const Tensor& x, const Batch& batch) const override {
    const Tensor mu = mean_rows(x);                                             // [T,1]  [CLN eq.2]
    const Tensor sigma2 = mean_rows(square(x - mu));                            // [T,1]  [CLN eq.3]
    const Tensor xhat = (x - mu) / sqrt(sigma2 + eps_);                         // [T,H]
    if (!batch.row_task) return xhat * weight_ + bias_;
    const Tensor weight = index_select(task_weight_ + weight_, batch.row_task);  // [T,H]  γ + γ_t
    const Tensor bias = index_select(task_bias_ + bias_, batch.row_task);        // [T,H]  β + β_t
    return xhat * weight + bias;                                                // [T,H]  [CLN eq.4]
  }

  // Without a task it is plain LayerNorm. With one, row i takes the weight and bias of its task:
  // the same kernel.
  // Error: a task id outside of 0..tasks-1.
  Tensor forward(const Tensor& x, const Batch& batch) const override {
    if (!batch.row_task) return layer_norm(x, weight_, bias_, eps_);                // [CLN eq.1-3]
    const Tensor weight = task_weight_ + weight_, bias = task_bias_ + bias_;        // [tasks,H]
    return layer_norm(x, weight, bias, eps_, batch.row_task);                       // [CLN eq.4]
  }

  Tensor task_weight_, task_bias_;                  // γ_t, β_t
};

const NormEntry norm_conditional_layer = {
    .name = "conditional-layer",
    .formula = "x̂⊙(γ+γ_t)+(β+β_t)",
    .paper = "Improving minBERT with CLN [CLN eq.4]",
    .over = "a token's channels",
    .parameters = "2H + 2H tasks",
    .options = {layer_norm_eps},
    .make = [](const NormOptions& o) -> std::unique_ptr<Norm> {
      MB_CHECK(o.tasks > 0, "conditional-layer: a norm for {} tasks; name the tasks with --tasks",
               o.tasks);
      return std::make_unique<ConditionalLayerNorm>(o);
    },
};

}  // namespace minbert
