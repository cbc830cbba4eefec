// Other readings of what the document leaves open: what "additional pre-training" is, and what its scores without
// conditional LayerNorm were trained on.
#include "engine/names.h"
#include "engine/text.h"
#include "minbert/files.h"
#include "minbert/pretrainer.h"
#include "papers/cln/cln.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

// Trains in the folder, and adds the dev scores of each task to the result.
void train_and_score(const TrainOptions& t, const std::string& folder, Json& result) {
  const Experiment experiment(t);
  const RunResult trained = train(experiment, t, folder);
  if (trained.interrupted) throw Interrupted();
  for (size_t i = 0; i < experiment.data().size(); ++i) {
    const TaskData& data = experiment.data()[i];
    result.set(data.task.name, Json::object({{"dev", dev_scores(data.task, data.dev, trained.predictions[i])}}));
  }
}

// The first task alone trains the encoder; of the others the heads alone learn.
Json first_then_heads(TrainOptions t, const std::vector<Task>& tasks, const std::string& folder) {
  Json result = Json::object();
  Names others = names_of(tasks);
  t.tasks = others[0];
  train_and_score(t, folder + "/first", result);
  others.erase(others.begin());
  t.tasks = joined(others, ","), t.model = folder + "/first", t.train_mode = trained::heads;
  train_and_score(t, folder + "/heads", result);
  return result;
}

// Masked words of the tasks' own texts first, one pass, then the document's loop.
Json texts_first(TrainOptions t, const std::vector<Task>& tasks, const std::string& folder) {
  PretrainOptions p;
  std::string texts;
  int64_t count = 0;
  const Tokenizer tokenizer = Tokenizer::from_folder(model_folder(t.model));
  const DatasetOptions options{.max_length = t.max_length, .limit = t.limit, .keep_texts = true,
                               .skip_bad_rows = t.skip_bad_rows};
  for (const Task& task : tasks) {
    std::ostringstream said_before;                 // of rows that are skipped
    const Dataset data = read_set(t.data, task, Split::train, 0, tokenizer, options, said_before);
    for (const Example& example : data.examples)
      for (const std::string& text : example.texts) texts += text + "\n\n", ++count;
  }
  write_file(folder + "/texts.txt", texts);
  p.corpus = {folder + "/texts.txt"}, p.init = t.model, p.out = folder + "/texts";
  p.batch = t.batch, p.seed = t.seed, p.lr = t.lr, p.no_nsp = true, p.max_length = t.max_length;
  p.steps = p.evaluate_every = int(count / t.batch);
  if (pretrain(p).interrupted) throw Interrupted();
  Json result = Json::object();
  t.model = p.out;
  train_and_score(t, folder + "/loop", result);
  return result;
}

struct Reading {
  std::string name, title;
  Json (*work)(TrainOptions, const std::vector<Task>&, const std::string&);
};
const std::vector<Reading> readings = {
    {"heads", "the first task alone, then the other tasks' heads", first_then_heads},
    {"texts", "masked words of the tasks' texts, then the loop", texts_first}};

Run run_of(const ClnRuns& runs, const Reading& reading, int seed) {
  const TrainOptions t = runs.options_of(runs.of_norm(cln_norms[0]), seed);
  Run run = runs.document.run_of(t, runs.tasks(), formatted("reading-{}-seed{}", reading.name, seed));
  run.options["reading"] = reading.name;
  run.scratch = {"first", "heads", "texts", "loop", "texts.txt"};
  run.work = [=, tasks = runs.tasks()](const std::string& folder) { return reading.work(t, tasks, folder); };
  return run;
}

std::vector<Run> all_runs(const ClnRuns& runs) {
  std::vector<Run> all;
  for (const int seed : runs.document.seeds()) {
    all.push_back(runs.training(cln_norms[0], seed));
    for (const Reading& reading : readings) all.push_back(run_of(runs, reading, seed));
  }
  return all;
}

// [CLN readings]
void show(const ClnRuns& runs, ItemReport& report) {
  std::vector<Reading> rows = readings;
  rows.insert(rows.begin(), {"loop", "the loop over all tasks, as elsewhere here", nullptr});
  LongTable table({"reading", "task", "seed", "score"});
  report.table("Dev scores of LayerNorm, x 100", "trained on", rows, first_dev_sets(runs.tasks()),
               [&](const Reading& reading, const DevSet& set) {
                 Numbers scores;
                 for (const int seed : runs.document.seeds()) {
                   const Run run = reading.work ? run_of(runs, reading, seed) : runs.training(cln_norms[0], seed);
                   const auto score = sound_dev_score(runs.document.result(run)[set.task.name]["dev"], set);
                   table(reading.name, set.task.name, seed) = score;
                   if (score) scores.push_back(100 * *score);
                 }
                 return ItemReport::Cell{"", defined_text(scores, size_t(runs.o.seeds), 2), scores};
               });
  report.csv(table);
  report.judge_by(table, points);
  show_yardsticks(runs.document, runs.tasks(), report, {100, 2});
}

}  // namespace

Item readings_item(const ClnRuns& runs) {
  return {"readings", both(yardstick_runs(runs.document, runs.tasks()), std::bind_front(all_runs, runs)),
          std::bind_front(show, runs), [] { return std::vector<Run>(); }, true};
}

}  // namespace minbert
