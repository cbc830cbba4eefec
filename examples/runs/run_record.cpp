// Writing and reading run.json.
#include "runs/run_record.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "engine/ranks.h"
#include "engine/text.h"
#include "minbert/files.h"
#include "report/curves.h"
#include "report/environment.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

// A number, where the text is one; yes and no.
Json typed(const std::string& text) {
  if (const auto number = number_in(text)) {
    const bool whole = std::abs(*number) < 1e15 && *number == std::floor(*number);
    return whole ? Json(int64_t(*number)) : Json(*number);
  }
  if (text == "yes" || text == "no") return text == "yes";
  return text;
}

std::string key(const Measure& measure) {
  return (measure.set.empty() ? "" : measure.set + " ") + name_of(measure.metric);
}

}  // namespace

Json run_start(const CommandLine& line, const std::string& folder) {
  const Json before = Json::load_if_there(folder + "/run.json"), here = environment();
  if (!before.has("command"))
    return with_options(Json::object({{"command", line.command()}, {"date", date()},
                                      {"environment", here}}), line.values());
  const bool elsewhere = before["environment"].dump() != here.dump();
  return elsewhere ? Json(before).set("resumed", Json::object({{"date", date()}, {"environment", here}}))
                   : before;
}

Json with_options(const Json& start, const std::map<std::string, std::string>& options) {
  Json record = Json::object(), all = Json::object();
  for (const char* name : {"command", "date", "environment", "resumed", "data", "model"})
    if (start.has(name)) record.set(name, start[name]);
  for (const auto& [name, value] : options) all.set(name, typed(value));
  return record.set("options", all);
}

namespace {
// Of each task its files, and how many rows of each set were taken, and skipped.
Json facts_of_data(const Experiment& experiment) {
  const Json sources = sources_by(experiment.sources(), "--data");
  Json data = Json::object();
  for (const TaskData& d : experiment.data()) {
    Json facts = Json::object(), rows = Json::object(), skipped = Json::object();
    for (const std::string& file : d.task.files.all())
      if (sources.has(file)) facts.set(file, sources[file]);
    const auto add = [&](const std::string& name, const Dataset& set) {
      rows.set(name, int64_t(set.examples.size()));
      skipped.set(name, set.skipped);
    };
    add("train", d.train);
    for (const auto& [split, sets] : {std::pair("dev", &d.dev), {"test", &d.test}})
      for (size_t i = 0; i < sets->size(); ++i)
        add(split + (d.task.sets[i].empty() ? "" : " " + d.task.sets[i]), (*sets)[i]);
    data.set(d.task.name, facts.set("rows", rows).set("skipped", skipped));
  }
  return data;
}
}  // namespace

Json sources_by(const Json& sources, const std::string& option) {
  Json files = Json::object();
  for (const auto& [name, facts] : sources.members())
    if (name.starts_with(option + " ")) files.set(name.substr(option.size() + 1), facts);
  return files;
}

Json with_sources(Json record, const Experiment& experiment) {
  return record.set("data", facts_of_data(experiment))
      .set("model", facts_of_model(experiment.options().model,
                                   sources_by(experiment.sources(), "--model")));
}

Json facts_of_model(const std::string& model, const Json& files) {
  return Json::object({{"folder", model}, {"files", files}});
}

Json json_of(const Task& task, const TaskScores& scores) {
  Json all = Json::object();
  const std::vector<Measure> list = measures(task);
  for (size_t i = 0; i < scores.size(); ++i)        // a training set has the first ones alone
    all.set(key(list[i]), scores[i] ? Json(*scores[i]) : Json());
  return all;
}

TaskScores scores_of(const Task& task, const Json& json) {
  TaskScores scores;
  for (const Measure& measure : measures(task))
    if (json.has(key(measure))) scores.push_back(json[key(measure)].number_if());
  return scores;
}

Json json_of(const Experiment& experiment, const Scores& scores) {
  Json all = Json::object();
  for (size_t t = 0; t < scores.size(); ++t) {
    const Task& task = experiment.data()[t].task;
    all.set(task.name, json_of(task, scores[t]));
  }
  return all;
}

Scores scores_of(const Experiment& experiment, const Json& json) {
  Scores all;
  for (const TaskData& d : experiment.data()) all.push_back(scores_of(d.task, json[d.task.name]));
  return all;
}

Json json_of(const Experiment& experiment, const RunResult& r) {
  Json scores = Json::object({{"dev", json_of(experiment, r.dev)}});
  if (!r.train.empty()) scores.set("train", json_of(experiment, r.train));
  return Json::object({{"scores", scores},
                       {"dev_mean", r.dev.empty() ? Json() : Json(mean_score(r.dev))},
                       {"best_epoch", r.best_epoch + 1},
                       {"steps", r.steps},
                       {"seconds", r.seconds},
                       {"first_gradient", r.first_gradient},
                       {"parameters", r.parameters},
                       {"trained", r.trained}});
}

RunResult result_of(const Experiment& experiment, const Json& json) {
  const Json scores = json["scores"];
  RunResult r;
  if (!scores["dev"].members().empty()) r.dev = scores_of(experiment, scores["dev"]);
  if (scores.has("train")) r.train = scores_of(experiment, scores["train"]);
  r.best_epoch = json["best_epoch"].integer() - 1;
  r.steps = json["steps"].integer();
  r.seconds = json["seconds"].number();
  r.first_gradient = json["first_gradient"].number();
  r.parameters = json["parameters"].integer();
  r.trained = json["trained"].integer();
  return r;
}

void write_record(const std::string& folder, const Json& record) {
  if (ranks().first()) write_file(folder + "/run.json", record.dump() + "\n");
}

std::vector<FoundRun> runs_in(const std::string& folder) {
  const auto is_run = [](const fs::path& at) {
    return fs::exists(at / "model/config.json") && fs::exists(at / "epochs.csv");
  };
  if (is_run(folder)) return {{folder}};
  std::vector<FoundRun> runs;
  std::error_code none;
  constexpr auto links_too = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(folder, links_too, none), end; at != end; ++at) {
    const bool found = is_run(at->path());
    if (found || at.depth() == 1) at.disable_recursion_pending();
    if (!found) continue;
    const Numbers means = CsvTable((at->path() / "epochs.csv").string()).numbers("dev_mean");
    const double best = means.empty() ? NAN : std::ranges::max(means);
    if (std::isfinite(best)) runs.push_back({at->path().string(), best});
  }
  std::ranges::sort(runs, {}, [](const FoundRun& run) { return std::pair(-run.dev_mean, run.folder); });
  return runs;
}

std::string one_run(const std::string& folder) {
  const std::vector<FoundRun> runs = runs_in(folder);
  if (runs.empty() || runs[0].folder == folder) return folder;
  std::cerr << formatted("{} has {}; the best by its mean dev score is taken:\n", folder,
                         counted(int64_t(runs.size()), "run"));
  for (const FoundRun& run : runs)
    std::cerr << formatted("  {}  {}\n", fixed(run.dev_mean, 4), run.folder);
  return runs[0].folder;
}

}  // namespace minbert
