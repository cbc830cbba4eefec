// Fisher information, one batch after the other.
#include "papers/fisher.h"

#include "files/progress.h"
#include "minbert/ops.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

struct Fisher {
  MultitaskBert& network;
  const Parameters& parameters;
  const Task& task;
  const Dataset& data;
  FisherOptions options;
  ElementValues F;

  // Adds the squares of one batch. share: the weight of one example in the mean. NoPerExample: nothing was added.
  void add(std::span<const int32_t> examples, double share) {
    const int id = network.task_id(task.name);
    const Batch batch = pack(inputs(data, examples), {id});
    const double count = double(examples.size());
    std::optional<PerExample> single;
    if (!options.of_means && examples.size() > 1) {
      if (batch.sentences() != int64_t(examples.size())) throw NoPerExample("pairs are encoded apart");
      single.emplace(batch.offsets);
    }
    // The mean of -log p(y_j|x_j), but for a constant, or the sum where each example's own counts.
    const Tensor loss = task_loss(task, network.forward(batch, id), labels(data, examples));
    const double half = task.kind == TaskKind::regression ? 0.5 : 1;             // (y - f)²/2
    backward(scale(loss, real(half * (single ? count : 1))));
    for (const Parameter& p : parameters.items())
      if (const Tensor g = p.value.grad()) add_squares(g, bool(single), share * (single ? 1 : count), F.at(p.name));
    parameters.clear_gradients();
  }

  static void add_squares(const Tensor& gradient, bool squared, double weight, std::vector<double>& sums) {
    std::vector<real> room;
    const std::span<const real> g = gradient.on_host(room);
#pragma omp parallel for simd schedule(static) if (g.size() > 16384)
    for (size_t i = 0; i < g.size(); ++i) sums[i] += weight * double(g[i]) * (squared ? 1 : double(g[i]));
  }
};

}  // namespace

std::optional<ElementValues> fisher_information(MultitaskBert& network, const Parameters& parameters, const Task& task,
                                                const Dataset& data, std::span<const int32_t> examples,
                                                const FisherOptions& options) {
  MB_CHECK(!examples.empty(), "{}: the Fisher information of {} needs 1 example or more", data.file, task.name);
  network.train(false);
  parameters.clear_gradients();
  Fisher fisher{network, parameters, task, data, options, {}};
  for (const Parameter& p : parameters.items())
    if (p.value.requires_grad()) fisher.F[p.name].resize(size_t(p.value.size()));
  Progress progress("Fisher information of " + task.name, int64_t(examples.size()));
  size_t size = size_t(options.batch);
  for (size_t begin = 0; begin < examples.size();) {
    if (interrupted()) return std::nullopt;
    const size_t count = std::min(size, examples.size() - begin);
    try {
      fisher.add(examples.subspan(begin, count), 1 / double(examples.size()));
    } catch (const NoPerExample&) {
      clear_tape();
      parameters.clear_gradients();
      size = 1;
      continue;
    }
    begin += count;
    progress.update(int64_t(begin));
  }
  return std::move(fisher.F);
}

}  // namespace minbert
