// Fisher information, one batch after the other.
#include "minbert/fisher.h"

#include "minbert/interrupt.h"
#include "minbert/ops.h"
#include "minbert/progress.h"

namespace minbert {
namespace {

// The mean of -log p(y_j|x_j) over the examples, but for a constant.
Tensor mean_negative_log_likelihood(MultitaskBert& network, const Task& task, const Dataset& data,
                                    std::span<const int32_t> examples) {
  const int id = network.task_id(task.name);
  const Tensor logits = network.forward(pack(inputs(data, examples), {id}), id);
  const Tensor loss = task_loss(task, logits, labels(data, examples));
  return task.kind == TaskKind::regression ? scale(loss, real(0.5)) : loss;      // (y - f)²/2
}

void add_squares(const Tensor& gradient, double weight, std::vector<double>& sums) {
  std::vector<real> room;
  const std::span<const real> g = gradient.on_host(room);
  sums.resize(g.size());
#pragma omp parallel for simd schedule(static) if (g.size() > 16384)
  for (size_t i = 0; i < g.size(); ++i) sums[i] += weight * double(g[i]) * double(g[i]);
}

}  // namespace

std::optional<ElementValues> fisher_information(MultitaskBert& network, const Parameters& parameters, const Task& task,
                                                const Dataset& data, std::span<const int32_t> examples, int batch) {
  MB_CHECK(!examples.empty(), "{}: the Fisher information of {} needs 1 example or more", data.file, task.name);
  network.train(false);
  parameters.clear_gradients();
  const size_t size = size_t(batch), batches = (examples.size() + size - 1) / size;
  ElementValues F;
  for (const Parameter& p : parameters.items())
    if (p.value.requires_grad()) F[p.name].resize(size_t(p.value.size()));
  Progress progress("Fisher information of " + task.name, int64_t(examples.size()));
  for (size_t begin = 0; begin < examples.size(); begin += size) {
    if (interrupted()) return std::nullopt;
    const size_t count = std::min(size, examples.size() - begin);
    backward(mean_negative_log_likelihood(network, task, data, examples.subspan(begin, count)));
    for (const Parameter& p : parameters.items())
      if (const Tensor g = p.value.grad()) add_squares(g, 1 / double(batches), F.at(p.name));
    parameters.clear_gradients();
    progress.update(int64_t(begin + count));
  }
  return F;
}

}  // namespace minbert
