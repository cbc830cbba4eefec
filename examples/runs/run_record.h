// What a run was: FOLDER/run.json, which people and programs read.
//
//   command, date            how it was started, and when (UTC)
//   options                  every option, numbers as numbers
//   environment              minbert, compiler, processor, OpenBLAS, threads, ...
//   model                    where it began: its files with size and fingerprint; parameters, trained
//   data                     each task's files with size and fingerprint; rows: taken of each set;
//                            skipped: of its file
//   scores                   {"sst": {"dev": {"accuracy": 0.49}, "train": {...}}} of the best epoch
//   best_epoch, dev_mean     epochs count from 1, as on the screen; 0: none was scored
//   steps, seconds           of training
//   first_gradient           the norm of the first step's gradient
//   yardsticks               {"majority class": {"sst": {"accuracy": 0.26}, ...}, ...}: yardsticks.h
//
//   resumed                  date and environment, where it went on in another one
//
// Without scores it has not ended, or was interrupted.
#pragma once

#include "minbert/trainer.h"
#include "report/figure.h"
#include "train/cli/command_line.h"

namespace minbert {

// What is known before the first step. A resumed run keeps what stands in the folder.
Json run_start(const CommandLine& line, const std::string& folder);
// The same for a run by itself, of an experiment that has several.
Json with_options(const Json& start, const std::map<std::string, std::string>& options);
// The model it begins with, and the data.
Json with_sources(Json record, const Experiment& experiment);

// Of the files that a run read (src/train/sources.h) those by one option: {"vocab.txt": ...}
Json sources_by(const Json& sources, const std::string& option);
// model: a folder, or "" for new weights; files: its files, with their facts
Json facts_of_model(const std::string& model, const Json& files);

// A task's scores by metric, "mm accuracy" where it has several sets; and back.
Json json_of(const Task& task, const TaskScores& scores);
TaskScores scores_of(const Task& task, const Json& json);
// The same of every task, and of a run's result.
Json json_of(const Experiment& experiment, const Scores& scores);
Scores scores_of(const Experiment& experiment, const Json& json);
Json json_of(const Experiment& experiment, const RunResult& result);
RunResult result_of(const Experiment& experiment, const Json& json);

void write_record(const std::string& folder, const Json& record);     // FOLDER/run.json

// The runs in a folder: itself; or of --compare, --seeds or `norms` those below it, from the best
// mean dev score down; none.
struct FoundRun {
  std::string folder;
  double dev_mean = 0;
};
std::vector<FoundRun> runs_in(const std::string& folder);
// The folder, or if it has several runs the best one; then a line in stderr for each.
std::string one_run(const std::string& folder);

}  // namespace minbert
