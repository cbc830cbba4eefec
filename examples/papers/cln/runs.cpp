// One training of CLN, and what is kept of it when its weights are gone.
#include <algorithm>
#include <cmath>

#include "engine/names.h"
#include "papers/cln/cln.h"
#include "report/curves.h"
#include "runs/recorder.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

// Of each conditional norm and task: |γ_t|, |β_t|, and how many of their numbers are above 0
// [CLN gains]. The norms are counted from the embeddings' on, in the order of the data's way.
Json::Array gains_of(const TrainedModel& trained) {
  Json::Array all;
  int64_t site = 0;
  for (const Parameter& gamma : trained.model.parameters.items()) {
    if (!gamma.name.ends_with(".task_weight")) continue;
    const std::string norm = gamma.name.substr(0, gamma.name.rfind('.'));
    const std::vector<real> g = gamma.value.values(),
                            b = trained.model.parameters.value(norm + ".task_bias").values();
    const size_t H = size_t(gamma.value.cols());
    for (size_t t = 0; t < trained.tasks.size(); ++t) {
      const auto length = [&](const std::vector<real>& v) {
        double squares = 0;
        for (size_t i = t * H; i < (t + 1) * H; ++i) squares += double(v[i]) * double(v[i]);
        return std::sqrt(squares);
      };
      const auto up = [&](const std::vector<real>& v) {
        const auto row = v.begin() + int64_t(t * H);
        return double(std::count_if(row, row + int64_t(H), [](real x) { return x > 0; })) / double(H);
      };
      all.push_back(Json::object({{"site", site}, {"norm", norm}, {"task", trained.tasks[t].name},
                                  {"gamma", length(g)}, {"beta", length(b)},
                                  {"gamma_up", up(g)}, {"beta_up", up(b)}}));
    }
    ++site;
  }
  return all;
}

}  // namespace

Kept kept_of(const std::string& folder, const Task& task, int epochs) {
  const Series losses = losses_of(folder, task.name);
  const size_t n = losses.y.size() / size_t(epochs), tenth = std::max<size_t>(1, n / 10);
  double before = 0, after = 0;
  for (int epoch = 0; epoch + 1 < epochs; ++epoch)
    for (size_t i = 0; i < tenth; ++i) {
      before += losses.y[size_t(epoch + 1) * n - 1 - i];
      after += losses.y[size_t(epoch + 1) * n + i];
    }
  const double count = double(tenth) * double(epochs - 1);
  return {before / count, after / count};
}

TrainOptions ClnRuns::options_of(const ClnTraining& training, int seed) const {
  TrainOptions t;
  t.tasks = joined(names_of(tasks()), ","), t.metric = o.metric;
  t.norm = training.norm, t.sampling = training.sampling, t.rate = training.rate, t.seed = seed;
  t.lr = o.lr, t.dropout = o.dropout, t.batch = o.batch, t.epochs = training.epochs;
  t.warmup = o.warmup, t.schedule = o.schedule;
  return document.on_data(t);
}

Run ClnRuns::training(const ClnTraining& training, int seed) const {
  const TrainOptions t = options_of(training, seed);
  Run run = document.run_of(t, tasks(), formatted("{}{}-seed{}", training.norm, training.name, seed));
  run.version = 2;                                  // 2: scores of each half of dev, and the switch
  run.work = [t, whole = training.name.empty()](const std::string& folder) {
    const Experiment experiment(t);
    const RunResult trained_run = train_recorded(experiment, t, folder, whole);
    if (trained_run.interrupted) throw Interrupted();
    Json result = Json::object({{"epoch", trained_run.best_epoch + 1}});
    for (size_t i = 0; i < experiment.data().size(); ++i) {
      const auto& [task, training_set, dev, test] = experiment.data()[i];
      Json of_task = Json::object({{"dev", dev_scores(task, dev, trained_run.predictions[i])}});
      if (whole) {
        const std::optional<double> score = trained_run.train[i][0];
        of_task.set("train", score ? Json(*score) : Json());
      }
      result.set(task.name, of_task);
    }
    if (!whole) return result;
    TrainedModel trained(folder);
    result.set("gains", Json::array(gains_of(trained)));
    if (t.norm == cln_norms[1]) result.set("switch", switched(trained, experiment.data()));
    return result;
  };
  return run;
}

std::vector<Run> ClnRuns::all() const {
  std::vector<Run> runs;
  for (const int seed : document.seeds())
    for (const std::string& norm : cln_norms) runs.push_back(training(norm, seed));
  return runs;
}

}  // namespace minbert
