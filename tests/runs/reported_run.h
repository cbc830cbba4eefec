#pragma once

#include "runs/run_page.h"
#include "small_run.h"

namespace minbert::test {

// A run with its record and its page, as multitask makes them.
inline RunResult reported_run(SmallWorld& world, TrainOptions o, const std::string& name) {
  o.out = world.path(name);
  const Quiet quiet;
  const Experiment experiment(o);
  const RunResult result = train(experiment, o, o.out);
  report_run(o.out, experiment, result, with_sources(no_command_line(), experiment));
  return result;
}

}  // namespace minbert::test
