// From options to tokenizer, configuration, data and model.
#include "minbert/trainer.h"

#include <algorithm>
#include <iostream>

#include "bert/family.h"
#include "engine/names.h"
#include "engine/text.h"
#include "files/about.h"
#include "train/cli/command_line.h"
#include "train/cli/train_mode.h"
#include "train/shards.h"
#include "train/sources.h"

namespace minbert {
namespace {

// Says what becomes of the tasks of a trained model.
void print_tasks(const std::string& source, const std::vector<std::string>& old,
                 const std::vector<TaskData>& data) {
  if (old.empty()) return;
  std::vector<std::string> taken_over, fresh, resting = old;
  for (const TaskData& d : data)
    (std::erase(resting, d.task.name) > 0 ? taken_over : fresh).push_back(d.task.name);
  const auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? "none" : joined(names);
  };
  std::cerr << formatted("{}: tasks taken over: {}; new: {}; at rest, with heads and task "
                         "parameters as they are: {}\n", source, list(taken_over), list(fresh),
                         list(resting));
}

// Says which labels a whole file lacks. Error where training has one label alone.
void report_labels(const TaskData& d) {
  if (d.task.kind == TaskKind::regression) return;
  const auto missing = [&](const Dataset& data) {
    std::vector<std::string> labels;
    for (int label = 0; label < d.task.classes(); ++label)
      if (!std::ranges::count(data.examples, double(label), &Example::label))
        labels.push_back(d.task.label_text(label));
    return labels;
  };
  const std::vector<std::string> unlearnt = missing(d.train), unscored = missing(d.dev[0]);
  MB_CHECK(int(unlearnt.size()) + 1 < d.task.classes(),
           "{}: all rows have the same label, so there is nothing to learn", d.train.file);
  if (!unlearnt.empty())
    std::cerr << formatted("{}: no row is labeled {}: that cannot be learnt\n", d.train.file,
                           joined(unlearnt, " or "));
  if (!unscored.empty())
    std::cerr << formatted("{}: no row is labeled {}: the scores say nothing of it\n",
                           d.dev[0].file, joined(unscored, " or "));
}

}  // namespace

Experiment::Experiment(const TrainOptions& o, const std::vector<TrainOptions>& more) : options_(o) {
  config_ = start_config(o.model, o);
  std::vector<Task> saved;                          // the model's own have names, too
  if (!config_.is_foreign()) saved = tasks_of(config_);
  const std::vector<Task> tasks =
      parse_tasks(o.tasks, o.metric, o.task_weights, o.data, saved);
  MB_CHECK(!o.model.empty() || !o.from_scratch,
           "--from-scratch: new weights of --model's sizes need a --model; a network by --config "
           "is new anyway");
  MB_CHECK(o.model.empty() || (o.vocab.empty() && !o.cased),
           "--model {} brings its own vocabulary; leave out {}", o.model,
           o.cased ? "--cased" : "--vocab " + o.vocab);
  describe(config_, tasks);
  config_.tasks = heads_for(config_, tasks);
  check_run(o);
  for (const TrainOptions& run : more) check_run(run);
  check_files(o.data, tasks);
  std::vector<std::string> files;
  for (const Task& task : tasks)
    for (const std::string& file : files_in(o.data, task).all()) files.push_back(file);
  sources_ = sources_of(settings_of(o), files);

  if (!o.model.empty()) {
    tokenizer_ = tokenizer_of(model_folder(o.model), config_);
  } else {
    constexpr int own_pieces = 4000;
    tokenizer_ = o.vocab.empty() ? own_tokenizer(o.data, tasks, own_pieces, !o.cased)
                                 : Tokenizer::from_vocab(o.vocab, o.cased);
    if (o.vocab.empty())
      std::cerr << formatted("no --model: a new network ({}), {} word pieces, made of the training "
                             "texts\n", o.config, tokenizer_->size());
    config_ = new_config(o.config, *tokenizer_);
    describe(config_, tasks);
    if (o.config.ends_with(".json")) say_what_changes(o.config, config_, config(o), false);
  }
  const DatasetOptions reading{.max_length = config(o).max_length, .pairs = o.pairs,
                               .limit = o.limit, .skip_bad_rows = o.skip_bad_rows};
  for (const Task& task : tasks) {
    const auto read = [&](Split split, size_t set) {
      DatasetOptions how = reading;
      if (split == Split::dev) how.keep_texts = true;
      return read_set(o.data, task, split, set, *tokenizer_, how, std::cerr);
    };
    data_.push_back({task, read(Split::train, 0), {}, {}});
    for (size_t set = 0; set < task.sets.size(); ++set) {
      data_.back().dev.push_back(read(Split::dev, set));
      const bool test = find_test_file(o.data, task, set, std::cerr).has_value();
      data_.back().test.push_back(test ? read(Split::test, set) : Dataset());
    }
    if (o.limit == 0) report_labels(data_.back());
  }
}

// What of a run can be wrong is found before its data is read, which may take minutes.
void Experiment::check_run(const TrainOptions& run) const {
  if (!run.evaluate) check_shards(run);
  check_train_mode(run.train_mode);
  const BertModel network(config(run), 1);
}

BertConfig Experiment::config(const TrainOptions& o) const {
  BertConfig config = config_;
  configure(config, o);
  config.max_length = std::min(o.max_length, config.max_tokens());
  set_dropout(config, o.encoder_dropout, "--encoder-dropout");
  config.pairs = o.pairs;
  config.pool = o.pool;
  MB_CHECK(o.pool == Pool::pooler || (o.cls_norm == "none" && o.grad_norm == 0),
           "--pool {}: --cls-norm and --grad-norm stand at the pooler, which it leaves out; take "
           "--pool pooler with them", o.pool);
  config.cls_norm = o.cls_norm;
  if (o.cls_norm != "none") config.cls_norm_at = cls_norm_place(o.cls_norm, o.cls_norm_at);
  if (o.from_scratch) config.tasks.clear();
  for (const TaskData& data : data_)
    if (std::ranges::find(config.tasks, data.task.name) == config.tasks.end())
      config.tasks.push_back(data.task.name);
  config.classifier = {};
  if (config.heads() == Heads::classifier)
    config.classifier = classifier_of(tasks_of(config)[0], o.dropout);
  return config;
}

std::unique_ptr<Model> new_model(const Experiment& experiment, const TrainOptions& o,
                                 bool with_values) {
  const bool pretrained = !o.model.empty() && !o.from_scratch;
  const BertConfig config = experiment.config(o);
  auto model = std::make_unique<Model>(config, uint64_t(o.seed), with_values && !pretrained,
                                       heads_of(tasks_of(config)), o.dropout);
  bool new_pooler = false;
  if (pretrained) {
    const BertConfig saved = start_config(o.model, o);
    new_pooler = !saved.has_trained_pooler() ||
                 !has_weights(model_folder(o.model), {"pooler.dense.", "classifier.dense."});
    std::vector<Task> tasks;
    for (const TaskData& data : experiment.data()) tasks.push_back(data.task);
    if (with_values) {
      load_start(o.model, saved, tasks, config, model->parameters);
      print_tasks(o.model, heads_for(saved, tasks), experiment.data());
    }
  }
  const bool pooled = o.cls_norm_at == ClsPlace::pooled;
  model->network.bert().normalize_gradients(o.grad_norm,
                                            pooled ? ClsPlace::pooled : ClsPlace::pre_pooler);
  set_trained(model->parameters, o.train_mode, uint64_t(o.seed), new_pooler);
  return model;
}

TrainedModel::TrainedModel(const std::string& source)
    : config(BertConfig::load(model_folder(source) + "/config.json")),
      tokenizer(tokenizer_of(model_folder(source), config)), tasks(tasks_of(config)),
      model(config, 0, false, heads_of(tasks), 0), folder(source) {
  weights = load_all_layers(model_folder(folder), config, model.parameters);
  for (const std::string& name : weights.initialised)
    MB_CHECK(name.starts_with("bert.pooler."),
             "{}: {} is not among the weights", folder, name);
  if (!weights.initialised.empty() || !weights.unused.empty())
    print_report(std::cerr, weights, folder);
  model.network.train(false);
}

DatasetOptions TrainedModel::dataset_options() const {
  return {.max_length = config.max_length, .pairs = config.pairs};
}

const Task& TrainedModel::task(const std::string& name) const {
  const std::string classifier = config.family().head_of_one_task + "weight";
  MB_CHECK(!tasks.empty() || !std::ranges::count(weights.unused, classifier),
           "{}: {} is among the weights; if it classifies texts, add \"architectures\": [\"{}\"] "
           "to config.json",
           folder, classifier, config.family().architecture[1]);
  MB_CHECK(!tasks.empty(),
           "{}: this model was pre-trained, and on no task yet; fine-tune it: {} --model {} "
           "--tasks {} --data DIR --out runs/NAME", folder, command_of("multitask"),
           shell_word(folder), name.empty() ? "sst" : name);
  MB_CHECK(has_pooler() || config.pool != Pool::pooler,
           "{}: the weights lack the pooler, which its heads read", folder);
  const auto& [labels, type, dropout] = config.classifier;
  MB_CHECK(labels.size() < 2 || type == "single_label_classification",
           "{}: \"problem_type\" in config.json is \"{}\" of {} labels; minbert chooses one label, "
           "or gives one score",
           folder, type, labels.size());
  for (const std::string& label : labels)
    MB_CHECK(std::ranges::count(labels, label) == 1,
             "{}: \"id2label\" in config.json has \"{}\" twice", folder, label);
  MB_CHECK(!name.empty() || tasks.size() == 1, "{}: which of its tasks? --task takes one of {}",
           folder, joined(names_of(tasks)));
  return name.empty() ? tasks[0] : tasks[size_t(model.network.task_id(name))];
}

}  // namespace minbert
