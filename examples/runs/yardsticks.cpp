// The yardsticks of a run, and of a document's tables.
#include "runs/yardsticks.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "minbert/files.h"
#include "runs/bag_of_words.h"
#include "runs/run_record.h"

namespace minbert {
namespace {

// The most frequent label; of a similarity the mean.
double most_likely(const Task& task, const Dataset& train) {
  std::map<double, int> count;
  double mean = 0;
  for (const Example& e : train.examples) {
    ++count[e.label];
    mean += e.label / double(train.examples.size());
  }
  if (task.kind == TaskKind::regression) return mean;
  return std::ranges::max_element(count, {}, [](const auto& c) { return c.second; })->first;
}

}  // namespace

std::vector<TaskScores> yardsticks(const std::string& folder, const Task& task, const Tokenizer& tokenizer,
                                   const DatasetOptions& options, uint64_t seed, std::ostream& log) {
  const BagSets sets = read_bags(folder, task, tokenizer, options, log);
  SetPredictions same;
  for (const Dataset& set : sets.dev)
    same.push_back({Numbers(set.examples.size(), most_likely(task, sets.train)), {}});
  TaskScores words = bag_of_words(task, sets, tokenizer.size(), seed).dev;
  words.resize(measures(task).size());              // it was never defined
  return {scores(task, sets.dev, same), words};
}

std::vector<Scores> yardsticks_of(const Experiment& experiment, const Json& start) {
  const TrainOptions& o = experiment.options();
  const std::string file = o.out + "/yardsticks.json";
  const Json identity = Json::object({{"data", start["data"]},
                                      {"seed", int64_t(o.seed)},
                                      {"tokens", experiment.tokenizer().size()}});
  const Json before = Json::load_if_there(file);
  std::vector<Scores> all(yardstick_names.size());
  if (before.has("of") && before["of"].dump() == identity.dump()) {
    for (size_t y = 0; y < all.size(); ++y)
      all[y] = scores_of(experiment, before["scores"][yardstick_names[y]]);
    return all;
  }
  for (const TaskData& d : experiment.data()) {
    std::ostringstream said_before;                 // of rows that are skipped
    const DatasetOptions options{
        .max_length = o.max_length, .limit = o.limit, .skip_bad_rows = true};
    const auto of_task = yardsticks(o.data, d.task, experiment.tokenizer(), options,
                                    uint64_t(o.seed), said_before);
    for (size_t y = 0; y < all.size(); ++y) all[y].push_back(of_task[y]);
  }
  make_folder(o.out);
  write_file(file, Json::object({{"of", identity}, {"scores", json_of(experiment, all)}}).dump() + "\n");
  return all;
}

Json json_of(const Experiment& experiment, const std::vector<Scores>& yardsticks) {
  Json all = Json::object();
  for (size_t y = 0; y < yardsticks.size(); ++y)
    all.set(yardstick_names[y], json_of(experiment, yardsticks[y]));
  return all;
}

}  // namespace minbert
