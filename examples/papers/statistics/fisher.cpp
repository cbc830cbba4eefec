// Fisher information, one example after the other.
#include "papers/statistics/fisher.h"

#include "files/progress.h"
#include "minbert/ops.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

// The term of one example j: 1/N (∂ log p(y_j|x_j; ω) / ∂ω)²
void add_squares(const Tensor& gradient, double weight, std::vector<double>& sums) {
  std::vector<real> room;
  const std::span<const real> g = gradient.on_host(room);
#pragma omp parallel for simd schedule(static) if (g.size() > 16384)
  for (size_t i = 0; i < g.size(); ++i) sums[i] += weight * double(g[i]) * double(g[i]);       // [LN-PEFT eq.2]
}

}  // namespace

ElementValues fisher_information(MultitaskBert& network, const Parameters& parameters,
                                 const Task& task, const Dataset& data,
                                 std::span<const int32_t> examples) {
  MB_CHECK(!examples.empty(), "{}: the Fisher information of {} needs 1 example or more",
           data.file, task.name);
  network.train(false);
  parameters.zero_grad();
  ElementValues F;
  for (const Parameter& p : parameters.items())
    if (p.value.requires_grad()) F[p.name].resize(size_t(p.value.size()));
  const int id = network.task_id(task.name);
  const double half = task.kind == TaskKind::regression ? 0.5 : 1;          // (y - f)²/2
  const double N = double(examples.size());
  Progress progress("Fisher information of " + task.name, int64_t(examples.size()));
  for (size_t j = 0; j < examples.size(); ++j) {
    check_interrupt();
    const auto one = examples.subspan(j, 1);
    const auto [batch, labels] = labeled(data, one, {id});
    const Tensor logits = network.forward(batch, id);
    // -log p(y_j|x_j; ω), but for a constant
    backward(scale(task_loss(task, logits, labels), real(half)));
    for (const Parameter& p : parameters.items())
      if (const Tensor g = p.value.grad()) add_squares(g, 1 / N, F.at(p.name));       // [LN-PEFT eq.2]
    parameters.zero_grad();
    progress.update(int64_t(j + 1));
  }
  return F;
}

}  // namespace minbert
