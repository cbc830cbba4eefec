// minBERT on several tasks at once: the main example [CLN].
//
//   multitask --model bert-base-uncased --data data --compare   with LayerNorm and with conditional LayerNorm
//   multitask --config tiny --vocab vocab.txt --data data       a small network from scratch
#include <sys/resource.h>

#include <filesystem>
#include <iomanip>
#include <iostream>

#include "minbert/files.h"
#include "minbert/trainer.h"

using namespace minbert;

namespace {

// A run folder remembers how it was started. Resuming takes those options, and names any that were given
// otherwise.
std::string options_file(const std::string& run) { return run + "/options.json"; }

void remember_options(const CommandLine& line, const std::string& run) {
  Json stored = Json::object();
  for (const auto& [name, value] : line.values()) stored.set(name, value);
  write_file(options_file(run), stored.dump() + "\n");
}

void recall_options(CommandLine& line, const std::string& run) {
  const std::string file = options_file(run);
  MB_CHECK(std::filesystem::exists(file), "--out {}: there is no run: {} is missing", run, file);
  std::string conflicts;
  const Json stored = Json::load(file);
  for (const auto& [name, value] : stored.members()) {
    if (may_differ_on_resume(name)) continue;
    if (!line.given(name)) line.set(name, value.string());
    else if (line.values().at(name) != value.string())
      conflicts +=
          "\n  " + name + " " + line.values().at(name) + ", but the run was started with " + value.string();
  }
  MB_CHECK(conflicts.empty(), "these options contradict {}; leave them out:{}", file, conflicts);
}

void prepare_folder(const std::string& run) {
  MB_CHECK(!run.empty(), "--out is empty; expected the name of a folder");
  std::error_code none;
  MB_CHECK(!std::filesystem::exists(run, none) || std::filesystem::is_empty(run, none),
           "--out {}: exists already. Go on with it by --resume, look at it by --evaluate, or choose another "
           "folder",
           run);
  make_folder(run);
}

void print_scores(const Experiment& experiment, const Scores& scores) {
  for (size_t i = 0; i < scores.size(); ++i) {
    const Task& task = experiment.data()[i].task;
    std::cout << "  " << std::left << std::setw(8) << task.title << "dev "
              << std::setw(9) << metric_name(task.metric) << score_text(scores[i]) << '\n';
  }
}

int run(CommandLine& line, TrainOptions& o) {
  const bool again = o.resume || o.evaluate;
  if (again) recall_options(line, o.out);
  else prepare_folder(o.out);
  use_threads(o.threads);
  set_check_nan(o.check_nan);
  if (o.evaluate) {
    o.model = o.out, o.vocab.clear();               // the run's own model, wherever it came from
    const Experiment experiment(o);
    print_scores(experiment, evaluate(experiment, o.out));
    return 0;
  }
  MB_CHECK(!o.compare || !line.given("--norm"),
           "--compare trains with layer and with conditional-layer; leave out --norm");
  const Experiment experiment(o);
  if (!again) remember_options(line, o.out);        // not before: what cannot be read leaves no run behind
  watch_for_interrupt();
  if (o.compare) return compare(experiment, {"layer", "conditional-layer"});
  if (o.seeds > 1) return compare(experiment, {o.norm});
  const RunResult result = train(experiment, o.norm, uint64_t(o.seed), o.out);
  if (result.interrupted) return 130;
  if (o.epochs == 0) std::cout << "the initial model is in " << o.out << "/model\n";
  else print_scores(experiment, result.dev);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  TrainOptions options;
  options.norm = "conditional-layer";
  CommandLine line("multitask",
                   "Trains one BERT on several tasks: SST sentiment, Quora paraphrases, STS similarity.");
  add_train_options(line, options);
  line.epilogue("Examples:\n"
                "  multitask --model bert-base-uncased --data data --epochs 3 --out runs/first\n"
                "  multitask --config tiny --vocab vocab.txt --data data --lr 1e-3 --compare --seeds 3\n"
                "  multitask --out runs/first --resume\n");
  line.parse(argc, argv);
  return run_program("multitask", [&] {
    const int status = run(line, options);
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    std::cout << "peak memory " << usage.ru_maxrss / 1024 << " MB; results in " << options.out << '\n';
    return status;
  });
}
