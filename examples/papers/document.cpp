// The frame of a document's program.
#include "papers/document.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "engine/clock.h"
#include "engine/names.h"
#include "engine/text.h"
#include "minbert/files.h"
#include "minbert/shipped.h"
#include "minbert/trainer.h"
#include "report/claims.h"
#include "report/environment.h"
#include "report/measured.h"
#include "report/report.h"
#include "report/source.h"
#include "runs/recorder.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"
#include "train/sources.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

// Has the model a head of pre-training? One that was trained further, to encode sentences say, has none.
bool is_pretrained(const std::string& model) {
  if (model.empty()) return true;                   // new networks
  return has_weights(model_folder(model), {"cls.predictions.", "cls.seq_relationship.", "lm_head."});
}

// data/mini and the folders in it, which make-mini wrote
bool is_generated(const std::string& data) {
  std::error_code none;
  const fs::path mini = fs::weakly_canonical(shipped("data/mini"), none), folder = fs::weakly_canonical(data, none);
  return folder == mini || folder.lexically_relative(mini).string().find("..") == std::string::npos;
}

// Where an item's code is: "src/norm/cls/iso_bn.cpp:118 theta_bar", the line only where the sources are.
Json places_of(const PaperItem& item) {
  Json::Array all;
  for (const auto& [file, name] : item.definitions()) {
    const int line = defining_line(file, name);
    all.push_back(line ? formatted("{}:{} {}", file, line, name) : file + " " + name);
  }
  return Json::array(all);
}

}  // namespace

Document::Document(const DocumentOptions& options, const std::string& file)
    : options_(options),
      paper_(file),
      study_({.out = options.out,
              .jobs = options.jobs,
              .command = options.command,
              .only = options.only_run}),
      tasks_(parse_tasks(options.tasks, options.metric)) {
  const Names order = split(options.tasks);
  std::ranges::sort(tasks_, {}, [&](const Task& t) { return std::ranges::find(order, t.name); });
  generated_ = is_generated(options.data);
  pretrained_ = is_pretrained(options.model);
  if (generated_)
    for (Task& task : tasks_) task.title += " (generated)";
  check_files(options.data, options.tasks_given ? tasks_ : std::vector<Task>());
  if (options.tasks_given) return;
  std::erase_if(tasks_, [&](const Task& task) {
    const bool found = fs::exists(data_file(options.data, task, Split::train)) &&
                       fs::exists(data_file(options.data, task, Split::dev));
    if (!found) missing_.push_back(task.title);
    return !found;
  });
  MB_CHECK(!tasks_.empty(), "--data {}: has files of none of these tasks: {}", options.data,
           options.tasks);
  if (!missing_.empty())
    std::cerr << formatted("without {}: no files of it in {}\n", joined(missing_), options.data);
}

OptionValues Document::inputs(const Task& task) {
  const std::string rows =
      options_.limit > 0 ? formatted("{}, evenly spaced", options_.limit) : "all";
  OptionValues all = {{"task", task.name},
                      {"rows", rows},
                      {"max-length", std::to_string(options_.max_length)}};
  if (options_.matmul != MachineOptions().matmul) all["matmul"] = name_of(options_.matmul);
  const std::string folder = options_.model.empty() ? "" : model_folder(options_.model);
  if (!folder.empty())
    for (const std::string& file : files_of_model(folder))
      all["model " + fs::path(file).filename().string()] = study_.fingerprint(file);
  for (const Split split : {Split::train, Split::dev})
    for (size_t set = 0; set < (split == Split::dev ? task.sets.size() : 1); ++set) {
      const std::string file = data_file(options_.data, task, split, set);
      all["data " + fs::path(file).filename().string()] = study_.fingerprint(file);
    }
  return all;
}

std::optional<double> Document::score(const Run& run, const DevSet& set, DevRows rows) const {
  return dev_score(result(run), set, rows);
}

std::optional<double> Document::sound_score(const Run& run, const DevSet& set, DevRows rows) const {
  return sound_dev_score(result(run), set, rows);
}

ItemReport::Cell Document::scores(const std::vector<Run>& runs, const DevSet& set, double factor,
                                  DevRows rows) const {
  ItemReport::Cell cell;
  for (const Run& run : runs) {
    cell.points.push_back(factor * score(run, set, rows).value_or(0));
    const auto sound = sound_score(run, set, rows);
    cell.sound.push_back(sound ? std::optional(factor * *sound) : std::nullopt);
    if (!sound) cell.warning = "a seed predicts the same for every input";
  }
  return cell;
}

Run Document::run_on(const Task& task, const std::string& kind, double cost, OptionValues options,
                     std::function<Json(const std::string& folder)> work) {
  options.merge(inputs(task));
  return {kind + "-" + task.name, options, std::move(work), cost};
}

std::vector<int> Document::seeds() const {
  std::vector<int> all;
  for (int i = 0; i < options_.seeds; ++i) all.push_back(options_.seed + i);
  return all;
}

TrainOptions Document::on_task(const Task& task, TrainOptions o) const {
  o.tasks = task.name;
  o.metric = task.name + "=" + name_of(task.metrics[0]);
  return on_data(o);
}

TrainOptions Document::on_data(TrainOptions o) const {
  o.model = options_.model;
  o.data = options_.data;
  o.limit = options_.limit;
  o.skip_bad_rows = options_.skip_bad_rows;
  o.record = options_.record;
  o.max_length = options_.max_length;
  return o;
}

Run Document::run_of(const TrainOptions& o, const std::vector<Task>& tasks,
                     const std::string& name) {
  Run run{name, settings_of(o), {}, double(o.epochs)};
  for (const char* name_only : {"--model", "--data"}) run.options.erase(name_only);
  for (const Task& task : tasks)
    for (const auto& [what, value] : inputs(task)) {
      const auto [there, is_new] = run.options.insert({what, value});
      const bool other_file = !is_new && what.starts_with("data ") && there->second != value;     // of the same name
      if (other_file) run.options[task.name + " " + what] = value;
    }
  if (o.record > 0) run.options["record"] = std::to_string(o.record);
  run.scratch = {"state.safetensors", "model"};     // 4 times the model's size
  return run;
}

Run Document::fine_tuning(const Task& task, TrainOptions o, const std::string& name) {
  o = on_task(task, o);
  Run run = run_of(o, {task}, name);
  run.version = 2;                                  // 2: scores of each half of the dev rows
  run.work = [o](const std::string& folder) {
    const Experiment experiment(o);
    const RunResult trained_run = train_recorded(experiment, o, folder);
    if (trained_run.interrupted) throw Interrupted();
    const TaskData& data = experiment.data()[0];
    Json result = dev_scores(data.task, data.dev, trained_run.predictions[0]);
    result.set("epoch", trained_run.best_epoch + 1);
    result.set("parameters", trained_run.parameters).set("trained", trained_run.trained);
    return result;
  };
  return run;
}

Json Document::where_it_ran() {
  Json all = environment();
  for (const Task& task : tasks_)
    for (const auto& [what, digits] : inputs(task))
      if (what.starts_with("model ")) all.set("fingerprint of " + what, digits);
      else if (what.starts_with("data "))
        all.set("fingerprint of " + task.title + " " + what.substr(5), digits);
  return all;
}

// "data/mini/bert on data/mini"
std::string Document::where() const {
  return (options_.model.empty() ? "" : options_.model + " on ") + options_.data;
}

// "reduced grid: at most 500 rows of each file; what is trained: 2 seeds, 2 epochs"
std::string Document::extent() const {
  return formatted("{} grid: {}; what is trained: {}, {}", options_.grid,
                   options_.limit > 0 ? formatted("at most {} rows of each file", options_.limit) : "all rows",
                   counted(options_.seeds, "seed"), counted(options_.epochs, "epoch"));
}

// The model of the document that ours stands for: its RoBERTa, if ours is one; its large one, if
// ours is as wide.
Json Document::model_of_document() const {
  const Json& about = paper_.document;
  if (options_.model.empty()) return Json::object({{"name", ""}});
  const BertConfig config = BertConfig::load(model_folder(options_.model) + "/config.json");
  if (about.has(config.model_type)) return about[config.model_type];
  const bool large =
      about.has("large") && config.hidden_size >= about["large"]["hidden_size"].integer();
  return large ? about["large"] : about["model"];
}

Names Document::differences() const {
  Names all = model_differences();
  if (!missing_.empty())
    all.push_back(
        formatted("without {}, whose files are not in {}", joined(missing_), options_.data));
  if (options_.limit > 0)
    all.push_back(formatted("at most {} rows of each file, evenly spaced", options_.limit));
  return all;
}

Names Document::model_differences() const {
  if (options_.model.empty()) return {};
  Names all;
  const BertConfig config = BertConfig::load(model_folder(options_.model) + "/config.json");
  // config.json's keys, of which the document says the values
  const Json model = model_of_document();
  const int vocabulary = model.get("vocab_size", config.vocab_size);
  if (config.hidden_size != model["hidden_size"].integer() ||
      config.num_hidden_layers != model["num_hidden_layers"].integer() ||
      config.vocab_size != vocabulary)
    all.push_back(formatted(
        "the model has {} layers, H = {} and {} word pieces; {} has {} layers and H = {}{}",
        config.num_hidden_layers, config.hidden_size, config.vocab_size, model["name"].string(),
        model["num_hidden_layers"].integer(), model["hidden_size"].integer(),
        model.has("vocab_size") ? formatted(", and {} word pieces", vocabulary) : ""));
  if (config.model_type != "bert" && !paper_.document.has(config.model_type))
    all.push_back(formatted("the model is a {}; the document has none", config.model_type));
  if (!config.has_trained_pooler())
    all.push_back(
        "the model is pre-trained without a pooler: [CLS] of the pre-trained model is h^l, its last "
        "hidden state, and fine-tuning starts with a new pooler");
  return all;
}

// The command line that makes one item again: this program's options, with this item instead of
// those that were asked for. A word after an option is its value.
std::string Document::command(const std::string& item) const {
  std::string words =
      (options_.command.empty() ? paper_.program : options_.command[0]) + " " + item;
  for (size_t i = 1; i < options_.command.size(); ++i) {
    const std::string& word = options_.command[i];
    const auto option = options_.settings.find(options_.command[i - 1]);
    const bool is_value = option != options_.settings.end() && option->second != "yes" && option->second != "no";
    if (is_value || !std::ranges::count(options_.items, word)) words += " " + shell_word(word);
  }
  return words;
}

// Equations by their tags, as "eq.1".
Json Document::equations(const Names& tags) const {
  Json::Array all;
  for (const std::string& tag : tags) {
    const PaperItem& item = paper_.at(tag);
    all.push_back(Json::object({{"reference", formatted("[{} {}]", paper_.tag, tag)},
                                {"math", item.equation},
                                {"code", places_of(item)}}));
  }
  return Json::array(all);
}

// What data/papers says is different in an item that was run.
void Document::say_differences(const PaperItem& about, ItemReport& report) const {
  for (const Difference& d : paper_.differences(about))
    if (d.when.empty() || report.holds(d.when)) report.differs(d.says);
  for (const std::string& sentence : differences()) report.differs(sentence);
}

Json Document::show(const Item& item, std::vector<MeasuredItem>& measured) {
  const auto done = [this](const std::vector<Run>& list) {
    return std::all_of(list.begin(), list.end(),
                       [this](const Run& run) { return study_.is_done(run); });
  };
  std::vector<Run> runs = item.before();
  const bool known = done(runs);
  if (known)
    for (Run& run : item.runs()) runs.push_back(std::move(run));
  const bool chosen = known && !runs.empty() && done(runs);
  double seconds = 0;
  if (chosen)
    for (const Run& run : runs) seconds += study_.seconds(run), programs_.insert(study_.done_by(run));
  const PaperItem& about = paper_.item(item.name);
  ItemReport report(
      options_.out, about.printed,
      Json::object(
          {{"name", item.name},
           {"tag", about.tag},
           {"title", about.title},
           {"reference", formatted("[{} {}]", paper_.tag, about.tag)},
           {"command", command(item.name)},
           {"caption", formatted("{}; {}; {} s of work", where(), extent(), fixed(seconds, 1))}}));
  if (chosen) {
    report.when("generated data", generated_);
    item.show(report);
    for (const std::string& sentence : about.caption) report.caption(sentence);
    say_differences(about, report);
  }
  const Judging judging = {chosen, options_.judges(), generated_, pretrained_,
                           model_of_document()["name"].string(), chosen ? differences() : Names()};
  Json json = report.json();
  if (chosen && report.evidence() && !about.claims.empty()) measured.push_back({item.name, *report.evidence()});
  json.set("claims", judged_claims(about, judging, report.evidence()));
  json.set("code", places_of(about)).set("test", Json::array({about.tests.begin(), about.tests.end()}));
  Names shown = about.shows;
  if (!about.equation.empty()) shown.insert(shown.begin(), about.tag);
  json.set("equations", equations(shown));
  if (!chosen)
    json.set("status", "not run")
        .set("why", runs.empty() ? "none of its tasks is there"
                                 : "it was not asked for, and not all of its runs are done");
  return json;
}

int Document::run(std::vector<Item> items) {
  const Names order = paper_.items_shown();
  std::ranges::sort(items, {}, [&](const Item& item) { return index_of(item.name, order, "item"); });
  Names names = options_.items;
  for (const Item& item : items)
    if (options_.items.empty() && !item.by_name) names.push_back(item.name);
  std::vector<Item> wanted;
  for (const std::string& name : names)
    wanted.push_back(items[index_of(name, names_of(items), "item")]);
  watch_for_interrupt();
  const double start = now();
  for (const auto part : {&Item::before, &Item::runs}) {
    std::vector<Run> runs;
    for (const Item& item : wanted)
      for (Run& run : (item.*part)()) runs.push_back(std::move(run));
    if (!runs.empty() && !study_.run(runs)) return 130;
  }
  if (!options_.only_run.empty()) return 0;
  Json::Array shown;
  std::vector<MeasuredItem> measured;
  for (const Item& item : items) shown.push_back(show(item, measured));
  Json ran_on = where_it_ran();
  ran_on.set("time", fixed(now() - start, 1) + " s");
  ran_on.set("the runs were done by", joined({programs_.begin(), programs_.end()}, "; "));
  ran_on.set("memory", formatted("{} MB", peak_memory() / 1000000));
  Json about = paper_.document;
  Names equations_of_all;
  for (const Json& tag : about["equations"].items()) equations_of_all.push_back(tag.string());
  about.set("equations", equations(equations_of_all)).set("page", paper_.name).set("generated", generated_);
  const Json report = Json::object({{"form", report_form},
                                    {"document", about},
                                    {"command", joined(options_.command, " ")},
                                    {"settings", json_of(options_.settings)},
                                    {"environment", ran_on},
                                    {"grid", extent()},
                                    {"items", Json::array(shown)}});
  write_file(options_.out + "/report.json", report.dump() + "\n");
  const Names differ = differences();
  write_file(options_.out + "/measured.csv",
             measured_text(paper_, report,
                           Json::object({{"on", where()},
                                                 {"model", model_of_document()["name"]},
                                                 {"differences", Json::array({differ.begin(), differ.end()})},
                                                 {"judges", options_.judges()},
                                                 {"pretrained", pretrained_}}), measured));
  write_file(options_.out + "/report.html", report_html(report, options_.out));
  std::cout << formatted("{} of {} items: {}/report.html\n", names.size(), items.size(),
                         options_.out);
  return 0;
}

DocumentProgram::DocumentProgram(const std::string& program, const std::string& file, DocumentOptions& o, int argc,
                                 char** argv)
    : line(program, formatted("Every figure and table of \"{}\".", Paper(file).document["title"].string())),
      program_(program), paper_(file), options_(o), argc_(argc), argv_(argv) {
  o.command.assign(argv, argv + argc);
  add_document_options(line, o);
}

int DocumentProgram::run(const Names& examples, const std::string& more, const std::function<Grids()>& grids,
                         const std::function<std::vector<Item>(Document&)>& items) {
  line.closing(formatted("Writes OUT/report.html, every item beside the printed numbers: {}.{}",
                         joined(paper_.items_shown(), " "), more), examples);
  line.parse(argc_, argv_, formatted("{}--data {} --grid reduced --out {}",
                                     options_.model.empty() ? "" : "--model data/mini/bert ", options_.data,
                                         options_.out));
  return run_program(program_, [&] {
    begin_document(line, options_, grids());
    Document document(options_, paper_.name);
    return document.run(items(document));
  });
}

}  // namespace minbert
