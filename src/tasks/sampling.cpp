// The order of an epoch: the task and the examples of each step.
#include "minbert/sampling.h"

#include <algorithm>
#include <numeric>

#include "engine/names.h"
#include "minbert/error.h"
#include "minbert/random.h"

namespace minbert {
namespace {

// 0 .. count-1, shuffled by seed, task and epoch.
std::vector<int32_t> example_order(const TaskSize& task, int epoch, const EpochOptions& options) {
  std::vector<int32_t> order(size_t(task.examples));
  std::iota(order.begin(), order.end(), 0);
  if (!options.shuffle) return order;
  Random(options.seed, formatted("shuffle/{}/epoch {}", task.name, epoch)).shuffle(order);
  return order;
}

// The task of each step. left: the steps of each task.
std::vector<int> task_order(std::vector<int64_t> left, int epoch, const EpochOptions& options) {
  int64_t total = std::accumulate(left.begin(), left.end(), int64_t(0));
  Random random(options.seed, formatted("sampling/epoch {}", epoch));
  std::vector<int> order;
  for (size_t task = 0; total > 0; --total) {
    if (options.sampling == Sampling::proportional) {
      int64_t draw = int64_t(random.below(uint64_t(total)));
      for (task = 0; draw >= left[task]; ++task) draw -= left[task];
    } else if (options.sampling == Sampling::round_robin && !order.empty()) {
      task = (task + 1) % left.size();
    }
    while (left[task] == 0) task = (task + 1) % left.size();
    --left[task];
    order.push_back(int(task));
  }
  return order;
}

}  // namespace

std::vector<TaskBatch> epoch_batches(std::span<const TaskSize> tasks, int epoch,
                                     const EpochOptions& options) {
  MB_CHECK(options.batch >= 1, "--batch {}: expected 1 or more examples", options.batch);
  const size_t batch = size_t(options.batch);
  std::vector<std::vector<int32_t>> examples;
  std::vector<int64_t> batches;
  for (const TaskSize& task : tasks) {
    examples.push_back(example_order(task, epoch, options));
    batches.push_back(int64_t((examples.back().size() + batch - 1) / batch));
  }
  std::vector<TaskBatch> order;
  std::vector<size_t> done(tasks.size(), 0);        // examples of each task in earlier batches
  for (int task : task_order(batches, epoch, options)) {
    const std::vector<int32_t>& all = examples[size_t(task)];
    const size_t begin = done[size_t(task)], end = std::min(begin + batch, all.size());
    order.push_back(
        {task, std::vector<int32_t>(all.begin() + int64_t(begin), all.begin() + int64_t(end))});
    done[size_t(task)] = end;
  }
  return order;
}

}  // namespace minbert
