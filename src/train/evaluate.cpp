// Predictions and scores, without gradients and without dropout.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "shared.h"
#include "minbert/profile.h"

namespace minbert {
namespace {

constexpr size_t evaluation_batch = 64;

// One row of logits: the likeliest class and its probability; the side of 1/2 that the probability of 1 is
// on; or the score.
std::pair<double, double> read_logits(TaskKind kind, const real* x, int64_t outputs) {
  switch (kind) {
    case TaskKind::classification: {
      const real* best = std::max_element(x, x + outputs);
      double sum = 0;
      for (int64_t i = 0; i < outputs; ++i) sum += std::exp(double(x[i] - *best));
      return {double(best - x), 1 / sum};
    }
    case TaskKind::binary: {
      const double p = 1 / (1 + std::exp(-double(x[0])));
      return {p >= 0.5, std::max(p, 1 - p)};
    }
    case TaskKind::regression: return {double(x[0]), 1};
  }
  fail("unknown kind of task");
}

}  // namespace

Predictions predict(MultitaskBert& network, const Task& task, const Dataset& data) {
  const NoGrad no_tape;
  network.train(false);
  Predictions predictions;
  for (size_t begin = 0; begin < data.examples.size(); begin += evaluation_batch) {
    std::vector<int32_t> examples(std::min(evaluation_batch, data.examples.size() - begin));
    std::iota(examples.begin(), examples.end(), int32_t(begin));
    profile_resume();                               // saving a checkpoint, say, is no operation's time
    const Tensor logits = network.forward(pack(inputs(data, examples), {task.id}), task.id);
    for (int64_t row = 0; row < logits.rows(); ++row) {
      const real* x = logits.data() + row * logits.cols();
      MB_CHECK(std::all_of(x, x + logits.cols(), [](real v) { return std::isfinite(v); }),
               "{}: the output of {} for example {} is not a finite number: the weights have diverged. Train "
               "again with a smaller --lr, --clip 1 or --warmup 0.1",
               data.file, task.name, int64_t(begin) + row + 1);
      const auto [value, probability] = read_logits(task.kind, x, logits.cols());
      predictions.values.push_back(value), predictions.probabilities.push_back(probability);
    }
  }
  return predictions;
}

std::optional<double> score(const Task& task, const Dataset& data, const Predictions& predictions) {
  std::vector<double> labels;
  for (const Example& e : data.examples) labels.push_back(e.label);
  return score(task, predictions.values, labels);
}

Scores evaluate(const Experiment& experiment, const std::string& folder) {
  TrainedModel trained(folder);
  Scores scores;
  for (const TaskData& d : experiment.data())
    scores.push_back(score(d.task, d.dev, predict(trained.model.network, trained.task(d.task.name), d.dev)));
  return scores;
}

}  // namespace minbert
