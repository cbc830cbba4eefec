// minBERT on several tasks at once: the main example [CLN].
//
//   multitask                 one epoch on data/mini, from the small BERT there
//   multitask --model bert-base-uncased --data data --compare
//                             with LayerNorm and with conditional LayerNorm; --from-scratch: and
//                             without the pre-training
//   multitask --config tiny --vocab vocab.txt --data data
//                             a small network from scratch
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "engine/names.h"
#include "engine/ranks.h"
#include "models/plain_model.h"
#include "runs/comparison.h"
#include "runs/in_words.h"
#include "runs/recorder.h"
#include "runs/run_page.h"
#include "runs/yardsticks.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"

using namespace minbert;

namespace {

// yardsticks: none, or what needs no BERT
void print_scores(const Experiment& experiment, const Scores& scores,
                  const std::vector<Scores>& yardsticks = {}) {
  for (size_t i = 0; i < scores.size(); ++i) {
    const Task& task = experiment.data()[i].task;
    const std::vector<Measure> list = measures(task);
    for (size_t j = 0; j < list.size(); ++j) {
      std::cout << "  " << std::left << std::setw(8) << title_of(task, list[j].set) + " " << "dev "
                << std::setw(9) << metric_name(list[j].metric) << score_text(scores[i][j]);
      for (size_t y = 0; y < yardsticks.size(); ++y)
        if (yardsticks[y][i][j])                    // a mean has no correlation
          std::cout << "   " << yardstick_names[y] << ' ' << score_text(yardsticks[y][i][j]);
      std::cout << '\n';
    }
  }
}

// Is there a plain BERT with the function of this task?
bool is_plain(const std::string& folder, const std::string& task) {
  try {
    TrainedModel trained(folder);
    plain_model(trained, task, 0);
    return true;
  } catch (const Error&) {
    return false;
  }
}

int run(CommandLine& line, TrainOptions& o) {
  const bool again = o.resume || o.evaluate;
  const std::set<std::string> others = o.evaluate ? std::set<std::string>{"--tasks", "--metric"}
                                                  : std::set<std::string>{"--seeds"};
  const auto lock = begin_run(
      line, o, o.evaluate ? Start::look : o.resume ? Start::resume : Start::fresh, others);
  // Without a conditional norm a model of one task is a plain BERT.
  if (!again && !line.given("--norm") && split(o.tasks).size() == 1 &&
      (start_config(o.model, o).tasks.empty() || start_config(o.model, o).is_foreign()))
    o.norm = "layer";
  if (o.evaluate) {
    o.vocab.clear();
    o.task_weights.clear();                         // nothing is learnt
    if (line.given("--tasks") && !line.given("--metric"))
      o.metric.clear();  // the run's may name other tasks
    const std::vector<FoundRun> runs = runs_in(o.out);
    for (const FoundRun& found : runs) {            // --compare, --seeds: of several
      o.model = found.folder;                       // the run's own, wherever it came from
      if (runs.size() > 1) std::cout << found.folder << '\n';
      const Experiment experiment(o);
      print_scores(experiment, evaluate(experiment, found.folder));
    }
    MB_CHECK(!runs.empty(), "--out {}: no run in it has a model yet", o.out);
    return 0;
  }
  MB_CHECK(!line.given("--lr") || o.lr > 0, "--lr 0: expected a number above 0; --epochs 0 writes the initial model");
  MB_CHECK(o.seed < std::numeric_limits<int>::max() - o.seeds, "--seed {}: with --seeds {} there are none so large",
           o.seed, o.seeds);
  MB_CHECK(!o.compare || !line.given("--norm"),
           "--compare trains with layer and with conditional-layer; leave out --norm");
  const std::vector<Variant> variants = variants_of(o);
  const bool several = variants.size() > 1 || o.seeds > 1;
  const std::string other = several ? "steps.csv" : variants[0].label;      // what is there otherwise
  MB_CHECK(!o.resume || !std::filesystem::exists(o.out + "/" + other),
           "--out {}: {}; take a new folder", o.out,
           several ? "one run is in it, not one for each of several seeds"
                   : "it has runs of several seeds, not one run");
  const Experiment experiment(o);
  if (!again)
    remember_options(line, o.out);  // not before: what cannot be read leaves no run behind
  watch_for_interrupt();
  const Json start = with_sources(run_start(line, o.out), experiment);
  write_record(o.out, start);
  const auto print_next = [&] {
    const Task& task = experiment.data()[0].task;
    print_commands(task, o.out, is_plain(runs_in(o.out).at(0).folder, task.name));
  };
  if (several) {
    const int status = compare(experiment, variants, start);
    if (status == 0 && o.epochs > 0 && ranks().first()) print_next();
    return status;
  }
  std::vector<Scores> yardsticks;                   // before the training: they read the data again
  if (ranks().first() && o.epochs > 0) yardsticks = yardsticks_of(experiment, start);
  const RunResult result = train_recorded(experiment, o, o.out);
  if (result.interrupted) return 130;
  if (o.epochs == 0) {
    std::cout << "the initial model is in " << o.out << "/model\n";
    return 0;
  }
  report_run(o.out, experiment, result, start);
  if (ranks().first()) print_scores(experiment, result.dev, yardsticks);
  print_in_words(experiment, o.out);
  print_end(experiment, result, o.out);
  if (ranks().first()) print_next();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  TrainOptions options;
  options.norm = "conditional-layer";
  CommandLine line(
      "multitask",
      "Trains one BERT on several tasks: SST sentiment, Quora paraphrases, STS similarity.");
  add_train_options(line, options);
  line.closing(
      "Writes the run's folder --out: report.html, run.json, the best model/, predictions/, tables.",
      {"--model data/mini/bert --data data/mini --lr 3e-4 --epochs 3 --batch 16 --out runs/first",
       "--out runs/first --resume",
       "--model data/models/bert-base-uncased --data data --tasks sst --out runs/sst",
       "--config tiny --data data/mini --lr 1e-3 --compare --seeds 3 --out runs/compare",
       "--model data/models/bert-base-uncased --data data --train bitfit --device cuda"});
  line.parse(argc, argv, "--model data/mini/bert --data data/mini --epochs 1 --batch 16 --lr 3e-4 "
                         "--sampling round-robin");
  return run_program("multitask", [&] {
    const int status = run(line, options);
    std::cout << formatted("peak memory {} MB; results in {}\n", peak_memory() / 1000000,
                           options.out);
    return status;
  });
}
