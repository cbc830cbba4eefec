// The order in which several tasks share an epoch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace minbert {

enum class Sampling {
  sequential,                             // all of the first task, then the second, ... [CLN loop]
  round_robin,                            // a batch of each in turn, while it has any
  proportional                            // drawn in proportion to the batches that each has left
};

struct TaskSize {
  std::string name;
  int64_t examples;
};

struct EpochOptions {
  Sampling sampling = Sampling::sequential;
  // Examples in a batch
  int batch = 8;
  // false: each task's examples in the order of its file
  bool shuffle = true;
  // The seed of the order
  uint64_t seed = 11711;
};

struct TaskBatch {
  // Its index in the list of tasks
  int task;
  // Of that task: as many as a batch has, or fewer in its last one
  std::vector<int32_t> examples;
};

// All batches of one epoch: each example once, in every mode (none draws with replacement, or by
// the root of a task's size). A pure function of its arguments, so that a run can resume at any
// batch; a task's own order depends on its name and not on the other tasks.
std::vector<TaskBatch> epoch_batches(std::span<const TaskSize> tasks, int epoch,
                                     const EpochOptions& options);

}  // namespace minbert
