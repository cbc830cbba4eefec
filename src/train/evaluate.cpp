// Passes over data sets.
#include "minbert/trainer.h"

#include <algorithm>
#include <iostream>
#include <numeric>
#include <span>

#include "engine/profile.h"
#include "engine/ranks.h"
#include "files/progress.h"
#include "train/batches.h"
#include "train/interrupt.h"

namespace minbert {

void for_each_batch(const std::string& what, std::span<const int32_t> examples,
                    const VisitBatch& visit, size_t at_a_time) {
  const NoGrad no_tape;
  Progress progress(what, int64_t(examples.size()));
  for (size_t begin = 0; begin < examples.size() && !interrupted(); begin += at_a_time) {
    const auto batch = examples.subspan(begin, std::min(at_a_time, examples.size() - begin));
    visit(batch);
    progress.update(int64_t(begin + batch.size()));
  }
  if (ranks().any(interrupted())) throw Interrupted();
}

void for_each_batch(const std::string& what, size_t count, const VisitBatch& visit,
                    size_t at_a_time) {
  std::vector<int32_t> all(count);
  std::iota(all.begin(), all.end(), 0);
  for_each_batch(what, all, visit, at_a_time);
}

Predictions predict(MultitaskBert& network, const Task& task, const Dataset& data) {
  network.train(false);
  const int id = network.task_id(task.name);
  Predictions predictions;
  size_t batch = 0;
  const auto visit = [&](std::span<const int32_t> examples) {
    if (!ranks().takes(batch++)) {       // another rank's, which writes where 0 stands here
      predictions.values.resize(predictions.values.size() + examples.size());
      predictions.logits.resize(predictions.values.size() * size_t(task.outputs()));
      return;
    }
    profile_resume();                    // saving a checkpoint, say, is no operation's time
    const Tensor logits = network.forward(labeled(data, examples, {id}).batch, id);
    read_logits(task, data.file, logits, predictions);
  };
  for_each_batch("predicting " + data.file, data.examples.size(), visit);
  ranks().sum(std::span(predictions.values));
  ranks().sum(std::span(predictions.logits));
  return predictions;
}

TaskScores scores(const Task& task, const Dataset& data, const Predictions& predictions) {
  std::vector<double> labels;
  for (const Example& e : data.examples) labels.push_back(e.label);
  return scores(task, predictions.values, labels);
}

SetPredictions predict(MultitaskBert& network, const Task& task, std::span<const Dataset> sets) {
  SetPredictions all;
  for (const Dataset& data : sets)
    all.push_back(data.examples.empty() ? Predictions() : predict(network, task, data));
  return all;
}

TaskScores scores(const Task& task, std::span<const Dataset> sets, const SetPredictions& predicted,
                  std::ostream* warnings) {
  TaskScores all;
  for (size_t i = 0; i < sets.size(); ++i) {
    const TaskScores of_set = scores(task, sets[i], predicted[i]);
    all.insert(all.end(), of_set.begin(), of_set.end());
    const std::string warning = collapse_warning(task, predicted[i].values);
    if (warnings && !warning.empty()) *warnings << "  " << warning << '\n';
  }
  return all;
}

TaskScores scores_on(std::span<const Dataset> sets, MultitaskBert& network, const Task& task,
                     std::ostream* warnings) {
  return scores(task, sets, predict(network, task, sets), warnings);
}

Scores evaluate(const Experiment& experiment, const std::string& folder) {
  TrainedModel trained(folder);
  Scores all;
  for (const TaskData& d : experiment.data()) {
    trained.task(d.task.name);                      // Error for a head that says nothing
    all.push_back(scores_on(d.dev, trained.model.network, d.task));
  }
  return all;
}

// All tasks' training sets are one set; each example is encoded as a sentence of its own task.
void fit_cls_norm(MultitaskBert& network, const std::vector<TaskData>& data) {
  BertModel& bert = network.bert();
  if (!bert.cls_norm().wants_set()) return;
  network.train(false);
  for (const TaskData& d : data) {
    const int id = network.task_id(d.task.name);
    const auto visit = [&](std::span<const int32_t> examples) {
      bert.cls_norm().fit(bert.cls_before_norm(labeled(d.train, examples, {id}).batch));
    };
    const std::string what = formatted("{}: statistics of [CLS] over {}", bert.config().cls_norm,
                                       d.train.file);
    std::cerr << what << '\n';
    for_each_batch(what, d.train.examples.size(), visit);
  }
  bert.cls_norm().finish_fit();
}

}  // namespace minbert
