// From options to tokenizer, configuration, data and model.
#include "minbert/trainer.h"

#include <algorithm>
#include <iostream>

#include "engine/names.h"
#include "minbert/heads.h"
#include "shards.h"
#include "train/command_line.h"
#include "train/train_mode.h"

namespace minbert {
namespace {

std::vector<Task> tasks_of(const BertConfig& config) {
  return tasks_named(config.tasks, "\"minbert.tasks\" in config.json");
}

void check_cls_options(const TrainOptions& o) {
  MB_CHECK(o.cls_norm_at == cls_place::per_method || o.cls_norm != "none" || o.grad_norm > 0,
           "--cls-norm-at {}: nothing stands there; give --cls-norm or --grad-norm too", o.cls_norm_at);
  MB_CHECK(o.grad_norm == 0 || o.train_mode != trained::heads || o.evaluate,
           "--grad-norm {}: with --train {} nothing below [CLS] is trained, so no gradient passes there; "
           "leave out --grad-norm, or train the {}", o.grad_norm, o.train_mode, trained::full_model);
}

// Says what becomes of the tasks of a trained model.
void print_tasks(std::ostream& out, const std::string& source, const std::vector<std::string>& old,
                 const std::vector<TaskData>& data) {
  std::vector<std::string> taken_over, fresh, resting = old;
  for (const TaskData& d : data)
    (std::erase(resting, d.task.name) > 0 ? taken_over : fresh).push_back(d.task.name);
  const auto list = [](const std::vector<std::string>& names) { return names.empty() ? "none" : joined(names); };
  if (!old.empty())
    out << formatted("{}: tasks taken over: {}; new: {}; at rest, with heads and task parameters as they are: {}\n",
                     source, list(taken_over), list(fresh), list(resting));
}

}  // namespace

Experiment::Experiment(const TrainOptions& o, const std::vector<TrainOptions>& more) : options_(o) {
  const std::vector<Task> tasks = check_usage([&] { return parse_tasks(o.tasks, o.metric, o.task_weights); });
  if (o.model.empty()) {
    if (o.from_scratch)
      throw UsageError("--from-scratch: new weights of --model's sizes need a --model; a network by --config is new "
                       "anyway");
    config_ = check_usage([&] { return BertConfig::named(o.config); });
  } else {
    if (!o.vocab.empty())
      throw UsageError(formatted("--vocab {}: --model {} brings its own vocabulary; leave one of them out", o.vocab,
                                 o.model));
    config_ = BertConfig::load(model_folder(o.model) + "/config.json");
  }
  check_usage([&] {
    check_run(o);
    for (const TrainOptions& run : more) check_run(run);
  });
  check_files(o.data, tasks);

  if (o.model.empty()) {
    constexpr int own_pieces = 4000;
    tokenizer_ = o.vocab.empty() ? own_tokenizer(o.data, tasks, own_pieces, !o.cased)
                                 : Tokenizer::from_vocab(o.vocab, cased_option(o.cased));
    if (o.vocab.empty())
      std::cerr << "without --vocab: " << tokenizer_->size() << " word pieces, made of the training texts\n";
    config_ = new_config(o.config, *tokenizer_);
  } else {
    tokenizer_ = tokenizer_of(model_folder(o.model), config_, cased_option(o.cased));
  }
  if (o.max_length > config_.max_tokens())
    std::cerr << "--max-length " << o.max_length << ": this model has " << config_.max_tokens()
              << " positions; longer inputs are cut to that\n";
  tasks_of(config_);                                // Error for one that is not in the table
  const DatasetOptions reading{.max_length = config(o).max_length, .pairs = pairs_of(o.pairs), .limit = o.limit,
                               .keep_texts = 3};
  for (const Task& task : tasks) {
    const auto read = [&](Split split, size_t set) {
      return read_set(o.data, task, split, set, *tokenizer_, reading, std::cerr);
    };
    data_.push_back({task, read(Split::train, 0), {}, {}});
    for (size_t set = 0; set < task.sets.size(); ++set) {
      data_.back().dev.push_back(read(Split::dev, set));
      const bool test = find_test_file(o.data, task, set, std::cerr).has_value();
      data_.back().test.push_back(test ? read(Split::test, set) : Dataset());
    }
  }
}

// What of a run can be wrong is found before its data is read, which may take minutes.
void Experiment::check_run(const TrainOptions& run) const {
  if (!run.evaluate) check_shards(run);
  const BertModel network(config(run), 1);
}

BertConfig Experiment::config(const TrainOptions& o) const {
  check_cls_options(o);
  MB_CHECK(o.encoder_dropout >= 0 || o.encoder_dropout == -1,
           "--encoder-dropout {}: expected a probability, or -1: as config.json has it", o.encoder_dropout);
  BertConfig config = config_;
  configure(config, o);
  config.max_length = std::min(o.max_length, config.max_tokens());
  if (o.encoder_dropout >= 0) config.hidden_dropout_prob = config.attention_probs_dropout_prob = o.encoder_dropout;
  config.pairs = o.pairs;
  config.cls_norm = o.cls_norm;
  if (o.cls_norm != "none") config.cls_norm_at = cls_norm_place(o.cls_norm, o.cls_norm_at);
  if (o.from_scratch) config.tasks.clear();
  for (const TaskData& data : data_)
    if (std::ranges::find(config.tasks, data.task.name) == config.tasks.end()) config.tasks.push_back(data.task.name);
  return config;
}

std::unique_ptr<Model> new_model(const Experiment& experiment, const TrainOptions& o, bool with_values) {
  const bool pretrained = !o.model.empty() && !o.from_scratch;
  const BertConfig config = experiment.config(o);
  auto model = std::make_unique<Model>(config, uint64_t(o.seed), with_values && !pretrained,
                                       heads_of(tasks_of(config)), o.dropout);
  const std::string folder = pretrained ? model_folder(o.model) : "";
  const BertConfig saved = pretrained ? BertConfig::load(folder + "/config.json") : config;
  if (with_values && pretrained) {
    print_report(std::cerr, load_all_layers(folder, saved, model->parameters), o.model);
    print_placement(std::cerr, folder, saved, o.placement);
    print_tasks(std::cerr, o.model, saved.tasks, experiment.data());
  }
  const bool at_pre_pooler = o.cls_norm_at != cls_place::pooled;
  model->network.bert().normalize_gradients(o.grad_norm, at_pre_pooler ? cls_place::pre_pooler : cls_place::pooled);
  set_trained(model->parameters, o.train_mode, uint64_t(o.seed), pretrained && !saved.has_trained_pooler());
  return model;
}

TrainedModel::TrainedModel(const std::string& source, std::optional<bool> cased)
    : config(BertConfig::load(model_folder(source) + "/config.json")),
      tokenizer(tokenizer_of(model_folder(source), config, cased)), tasks(tasks_of(config)),
      model(config, 0, false, heads_of(tasks), 0), folder(source) {
  const WeightsReport report = load_all_layers(model_folder(folder), config, model.parameters);
  if (!report.initialised.empty() || !report.unused.empty()) print_report(std::cerr, report, folder);
}

DatasetOptions TrainedModel::dataset_options() const {
  return {.max_length = config.max_length, .pairs = pairs_of(config.pairs)};
}

const Task& TrainedModel::task(const std::string& name) const {
  MB_CHECK(!tasks.empty(), "{}: this model was pre-trained, and on no task yet; fine-tune it: multitask --model {} "
           "--tasks {} --data DIR --out runs/NAME", folder, folder, name);
  return tasks[size_t(model.network.task_id(name))];
}

}  // namespace minbert
