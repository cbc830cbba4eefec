// Predicting and scoring.
#include "minbert/evaluate.h"

#include <algorithm>
#include <numeric>

#include "minbert/profile.h"
#include "minbert/progress.h"

namespace minbert {

std::vector<int32_t> evaluation_batch(const Dataset& data, size_t begin) {
  std::vector<int32_t> examples(std::min<size_t>(64, data.examples.size() - begin));
  std::iota(examples.begin(), examples.end(), int32_t(begin));
  return examples;
}

Predictions predict(MultitaskBert& network, const Task& task, const Dataset& data) {
  const NoGrad no_tape;
  network.train(false);
  const int id = network.task_id(task.name);
  Predictions predictions;
  Progress progress("predicting " + data.file, int64_t(data.examples.size()));
  while (predictions.values.size() < data.examples.size()) {
    const size_t begin = predictions.values.size();
    const std::vector<int32_t> examples = evaluation_batch(data, begin);
    profile_resume();                               // saving a checkpoint, say, is no operation's time
    const Tensor logits = network.forward(pack(inputs(data, examples), {id}), id);
    read_logits(task, data, logits, predictions);
    progress.update(int64_t(predictions.values.size()));
  }
  return predictions;
}

TaskScores scores(const Task& task, const Dataset& data, const Predictions& predictions) {
  std::vector<double> labels;
  for (const Example& e : data.examples) labels.push_back(e.label);
  return scores(task, predictions.values, labels);
}

TaskScores scores_on(std::span<const Dataset> sets, MultitaskBert& network, const Task& task, std::ostream* warnings) {
  TaskScores all;
  for (const Dataset& data : sets) {
    const Predictions predictions = predict(network, task, data);
    for (const std::optional<double>& score : scores(task, data, predictions)) all.push_back(score);
    const std::string warning = collapse_warning(task, predictions.values);
    if (warnings && !warning.empty()) *warnings << "  " << warning << '\n';
  }
  return all;
}

Scores evaluate(const Experiment& experiment, const std::string& folder) {
  TrainedModel trained(folder);
  Scores all;
  for (const TaskData& d : experiment.data()) all.push_back(scores_on(d.dev, trained.model.network, d.task));
  return all;
}

}  // namespace minbert
