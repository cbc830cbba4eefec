// minBERT on several tasks at once: the main example [CLN].
//
//   multitask --model bert-base-uncased --data data --compare          with LayerNorm and with conditional LayerNorm
//   multitask --config tiny --vocab vocab.txt --data data              a small network from scratch
#include <sys/resource.h>

#include <filesystem>
#include <iomanip>
#include <iostream>

#include "minbert/files.h"
#include "minbert/trainer.h"

using namespace minbert;

namespace {

// A run folder remembers how it was started. Resuming takes those options, and names any that were given otherwise.
void remember_options(CommandLine& line, const TrainOptions& o) {
  const std::string file = o.out + "/options.json";
  const bool there = std::filesystem::exists(o.out);
  MB_CHECK(!there || o.resume || o.evaluate, "--out {}: exists already. Go on with it by --resume, look at it by --evaluate, "
           "or choose another folder", o.out);
  MB_CHECK(there || !(o.resume || o.evaluate), "--out {}: there is no such run", o.out);
  if (there) {
    std::string conflicts;
    const Json stored = Json::load(file);
    for (const auto& [name, value] : stored.members()) {
      if (may_differ_on_resume(name)) continue;
      if (!line.given(name)) line.set(name, value.string());
      else if (line.values().at(name) != value.string())
        conflicts += "\n  " + name + " " + line.values().at(name) + ", but the run was started with " + value.string();
    }
    MB_CHECK(conflicts.empty(), "--resume: these options contradict {}; leave them out:{}", file, conflicts);
    return;
  }
  Json stored = Json::object();
  for (const auto& [name, value] : line.values()) stored.set(name, value);
  make_folder(o.out);
  write_file(file, stored.dump() + "\n");
}

void print_scores(const Experiment& experiment, const Scores& scores) {
  for (size_t i = 0; i < scores.size(); ++i) {
    const Task& task = experiment.data()[i].task;
    std::cout << "  " << std::left << std::setw(8) << task.title << "dev "
              << (task.metric == Metric::accuracy ? "accuracy " : "Pearson  ") << score_text(scores[i]) << '\n';
  }
}

int run(CommandLine& line, TrainOptions& o) {
  remember_options(line, o);
  use_threads(o.threads);
  set_check_nan(o.check_nan);
  const std::string norm = line.values().at("--norm");
  if (o.evaluate) {
    const Experiment experiment(o);
    print_scores(experiment, evaluate(experiment, o.out));
    return 0;
  }
  const Experiment experiment(o);
  watch_for_interrupt();
  if (o.compare) return compare(experiment, {"layer", "conditional-layer"});
  if (o.seeds > 1) return compare(experiment, {norm});
  const RunResult result = train(experiment, norm, uint64_t(o.seed), o.out);
  if (result.interrupted) return 130;
  if (o.epochs == 0) std::cout << "the initial model is in " << o.out << "/model\n";
  else print_scores(experiment, result.dev);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  TrainOptions options;
  options.norm = "conditional-layer";
  CommandLine line("multitask", "Trains one BERT on several tasks: SST sentiment, Quora paraphrases, STS similarity.");
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
