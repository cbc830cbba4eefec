// Who looks on while a run learns.
#pragma once

#include <cstdint>
#include <string>

namespace minbert {

class Module;
class Parameters;

// Called in every RunOptions::record-th step, from the first on, by each rank for its own part of
// the batch. examples/runs/recorder.h is one.
struct Observer {
  virtual ~Observer() = default;
  // Before the step. taken: steps so far; task: of its first batch, "" in pre-training. A Trace
  // (engine/tape.h) that is opened here sees the step's forward.
  virtual void before_step(int64_t taken, const std::string& task, Module& network,
                           const Parameters& parameters) = 0;
  // After the backward of its first batch, or of this rank's part of it: its gradients are there,
  // and the parameters have not moved yet.
  virtual void after_backward() = 0;
};

}  // namespace minbert
