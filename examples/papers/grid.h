// A grid of runs: axes, and the run of each combination of their values.
//
//   const auto run = [=](const Task& task, double lr, int seed) { return tuning(task, lr, seed); };
//   const RunGrid grid(run, tasks, o.lr, document.seeds());
//   const Item item{"tab1", grid, show};                         // grid() returns the runs
//   grid.each([&](const Task& task, double lr, int seed) {
//     table(task.name, lr, seed) = document.score(grid.run(task, lr, seed), set);
//   });
#pragma once

#include <tuple>

#include "runs/study.h"

namespace minbert {

// Visits every combination of the axes' values; the last axis runs fastest.
template <class Visit>
void product(const Visit& visit) {
  visit();
}
template <class Visit, class Axis, class... Axes>
void product(const Visit& visit, const Axis& axis, const Axes&... axes) {
  for (const auto& value : axis)
    product([&](const auto&... others) { visit(value, others...); }, axes...);
}

template <class Make, class... Axes>
class RunGrid {
 public:
  explicit RunGrid(Make run_of, Axes... axes) : run(std::move(run_of)), axes_(std::move(axes)...) {}
  template <class Visit>
  void each(const Visit& visit) const {
    std::apply([&](const auto&... axes) { product(visit, axes...); }, axes_);
  }
  std::vector<Run> operator()() const {
    std::vector<Run> runs;
    each([&](const auto&... values) { runs.push_back(run(values...)); });
    return runs;
  }

  Make run;

 private:
  std::tuple<Axes...> axes_;
};

// The runs of both.
template <class Runs, class More>
auto both(Runs runs, More more) {
  return [=] {
    std::vector<Run> all = runs();
    for (Run& run : more()) all.push_back(std::move(run));
    return all;
  };
}

}  // namespace minbert
