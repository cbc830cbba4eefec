// Heads and their outputs.
// Plain: loss_of in examples/plain_bert.cpp
#include "minbert/model.h"

#include <strings.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <ranges>

#include "engine/names.h"
#include "minbert/ops.h"

namespace minbert {
namespace {

// What one row of logits says: the likeliest class; whether 1 is at least as probable as 0; the
// score.
double value_of(TaskKind kind, std::span<const double> logits) {
  switch (kind) {
    case TaskKind::classification: return double(std::ranges::max_element(logits) - logits.begin());
    case TaskKind::binary: return logits[0] >= 0;
    case TaskKind::regression: return logits[0];
  }
  fail("unknown kind of task");
}

}  // namespace

std::vector<HeadSpec> heads_of(const std::vector<Task>& tasks) {
  std::vector<HeadSpec> heads;
  for (const Task& task : tasks)
    heads.push_back({task.name, task.outputs(), task.is_pair(), task.kind == TaskKind::regression});
  return heads;
}

namespace {
// A classifier that was trained elsewhere, as a task without files.
Task task_of(const ClassifierHead& head) {
  Task task;
  task.name = task.title = foreign_task;
  task.text_columns = {"sentence"};
  task.label_words = head.labels;
  if (head.labels.size() > 1) {
    task.high = double(head.labels.size() - 1);
  } else if (head.problem_type == "regression") {
    task.kind = TaskKind::regression;
    task.low = -std::numeric_limits<double>::infinity();
    task.high = -task.low;
    task.label_words.clear();
  } else {
    task.kind = TaskKind::binary;
    task.label_words = {"not " + head.labels[0], head.labels[0]};
  }
  return task;
}
}  // namespace

std::vector<Task> tasks_of(const BertConfig& config) {
  if (config.is_foreign()) return {task_of(config.classifier)};
  const std::vector<std::string>& labels = config.classifier.labels;
  std::vector<Task> tasks;
  for (const std::string& name : config.tasks) {
    const auto fields = config.described.find(name);
    if (fields != config.described.end()) {
      tasks.push_back(task_from(fields->second));
    } else if (!labels.empty() && !std::ranges::count(all_tasks(), name, &Task::name)) {
      tasks.push_back(task_of(config.classifier));  // of a program that did not describe it
      tasks.back().name = tasks.back().title = name;
    } else {
      tasks.push_back(tasks_named({name}, "\"minbert.tasks\" in config.json")[0]);
    }
  }
  if (labels.size() > 1 && labels != classifier_of(tasks[0], 0).labels)
    fail(formatted("config.json: the labels of \"id2label\" are {}, but those of the task \"{}\" "
                   "are {}", joined(labels), tasks[0].name,
                   joined(classifier_of(tasks[0], 0).labels)));
  return tasks;
}

void describe(BertConfig& config, const std::vector<Task>& tasks) {
  std::vector<Task> saved;
  if (!config.is_foreign()) saved = tasks_of(config);
  for (const Task& task : tasks) {
    const auto same = std::ranges::find(saved, task.name, &Task::name);
    if (same != saved.end() && (same->kind != task.kind || same->is_pair() != task.is_pair() ||
                                labels_of(*same) != labels_of(task)))
      fail(formatted("the model's task \"{}\" has other labels, another kind or another number of "
                     "texts than that of --tasks: {} beside {}; give yours another name", task.name,
                     json_of(*same).dump(-1), json_of(task).dump(-1)));
    config.described[task.name] = json_of(task);
  }
}

ClassifierHead classifier_of(const Task& task, double dropout) {
  ClassifierHead head;
  head.dropout = dropout;
  if (task.kind == TaskKind::regression) {
    head.labels = {task.label_column};
    head.problem_type = "regression";
  } else if (task.kind == TaskKind::binary) {
    head.labels = {in_words(task, 1)};
    head.problem_type = "multi_label_classification";
  } else {
    head.labels = labels_of(task);
    head.problem_type = "single_label_classification";
  }
  return head;
}

namespace {
// Of a classifier from elsewhere: the row of its head for each class of the run's only task, by the
// names of its labels, or by LABEL_0, LABEL_1, ... None: they are not the task's.
std::vector<int32_t> rows_for(const BertConfig& saved, const std::vector<Task>& tasks) {
  if (!saved.is_foreign() || tasks.size() != 1) return {};
  const ClassifierHead &theirs = saved.classifier, ours = classifier_of(tasks[0], 0);
  std::vector<int32_t> rows;
  for (size_t i = 0; i < ours.labels.size(); ++i) {
    const auto is_class = [&](const std::string& label) {
      for (const std::string& name :
           {ours.labels[i], tasks[0].label_text(double(i)), formatted("LABEL_{}", i)})
        if (strcasecmp(label.c_str(), name.c_str()) == 0) return true;
      return false;
    };
    rows.push_back(int32_t(std::ranges::find_if(theirs.labels, is_class) - theirs.labels.begin()));
  }
  const auto all = std::views::iota(0, int(theirs.labels.size()));
  if (theirs.problem_type == ours.problem_type && std::ranges::is_permutation(rows, all))
    return rows;
  return {};
}
}  // namespace

std::vector<std::string> heads_for(const BertConfig& saved, const std::vector<Task>& tasks) {
  if (!saved.is_foreign()) return saved.tasks;
  if (rows_for(saved, tasks).empty()) return {};
  return names_of(tasks);
}

namespace {
// Of such a classifier: puts the rows of its head in the order of the task's classes.
void sort_head(const BertConfig& saved, const std::vector<Task>& tasks,
               const Parameters& parameters) {
  const std::vector<int32_t> rows = rows_for(saved, tasks);
  if (saved.is_foreign() && !tasks.empty() && rows.empty())
    std::cerr << formatted("its labels are {}, not those of {}: a new head\n",
                           joined(saved.classifier.labels), joined(names_of(tasks)));
  if (rows.empty()) return;
  const NoGrad no_tape;
  const auto n = int64_t(rows.size());
  for (const char* part : {".weight", ".bias"}) {
    const Tensor& value = parameters.value("heads." + tasks[0].name + part);
    value.copy_from(index_select(value.reshape({n, value.size() / n}), rows).values());
  }
}

BertConfig with_tasks(BertConfig config, const std::vector<Task>& tasks, double head_dropout) {
  if (config.tasks.empty() || config.is_foreign())                       // no run
    config.pairs = Pairs::cross, config.pool = Pool::pooler;
  describe(config, tasks);
  config.tasks = names_of(tasks);
  if (tasks.size() == 1) config.classifier = classifier_of(tasks[0], head_dropout);
  config.max_length = std::min(512, config.max_tokens());
  return config;
}
}  // namespace

void say_what_changes(const std::string& source, const BertConfig& saved, const BertConfig& now,
                      bool trained) {
  const bool reads = !trained || (!saved.tasks.empty() && !saved.is_foreign());
  const auto say = [&](const char* option, const std::string& there, const std::string& ours) {
    if (there != ours)
      std::cerr << formatted("{}: {} {} {}, now {}: this is another function{}. {} {} keeps it.\n",
                             source, trained ? "trained with" : "it says", option, there, ours,
                             trained ? ", to be learnt anew" : "", option, there);
  };
  say("--placement", name_of(saved.placement), name_of(now.placement));
  if (saved.norm != BertConfig().norm) say("--norm", saved.norm, now.norm);
  if (saved.cls_norm != BertConfig().cls_norm) say("--cls-norm", saved.cls_norm, now.cls_norm);
  if (saved.cls_norm != BertConfig().cls_norm && saved.cls_norm == now.cls_norm)
    say("--cls-norm-at", name_of(saved.cls_norm_at), name_of(now.cls_norm_at));
  if (reads) say("--pool", name_of(saved.pool), name_of(now.pool));
  if (reads) say("--pairs", name_of(saved.pairs), name_of(now.pairs));
}

void load_start(const std::string& source, const BertConfig& saved, const std::vector<Task>& tasks,
                const BertConfig& now, const Parameters& parameters) {
  say_what_changes(model_folder(source), saved, now);
  BertConfig named = saved;
  if (const auto heads = heads_for(saved, tasks); !heads.empty()) named.tasks = heads;
  print_report(std::cerr, load_all_layers(model_folder(source), named, parameters), source);
  sort_head(saved, tasks, parameters);
}

Model Model::from_pretrained(const std::string& folder, const std::vector<Task>& tasks,
                             const FineTuneOptions& options) {
  const std::string source = model_folder(folder);
  return Model(source, BertConfig::load(source + "/config.json"), tasks, options);
}

Model::Model(const std::string& folder, const BertConfig& saved, const std::vector<Task>& tasks,
             const FineTuneOptions& o)
    : WithParameters(with_tasks(saved, tasks, o.head_dropout), o.seed, false, heads_of(tasks),
                     o.head_dropout) {
  load_start(folder, saved, tasks, network.bert().config(), parameters);
}

Tensor task_loss(const Task& task, const Tensor& logits, std::span<const double> labels) {
  const std::vector<int32_t> classes(labels.begin(), labels.end());
  const std::vector<real> values(labels.begin(), labels.end());
  switch (task.kind) {
    case TaskKind::classification: return cross_entropy(logits, classes);
    case TaskKind::binary:
      return binary_cross_entropy_with_logits(logits, Tensor::from(logits.shape(), values));
    case TaskKind::regression: return mse_loss(logits, Tensor::from(logits.shape(), values));
  }
  fail("unknown kind of task");
}

void read_logits(const Task& task, const std::string& file, const Tensor& logits,
                 Predictions& predictions) {
  std::vector<real> room;
  const std::span<const real> values = logits.on_host(room);
  for (int64_t row = 0; row < logits.rows(); ++row) {
    const auto x = values.subspan(size_t(row * logits.cols()), size_t(logits.cols()));
    MB_CHECK(std::ranges::all_of(x, [](real v) { return std::isfinite(v); }),
             "{}: the output of {} for example {} is not a finite number: the weights have "
             "diverged. Train again with a smaller --lr, --clip 1 or --warmup 0.1",
             file, task.name, predictions.values.size() + 1);
    predictions.logits.insert(predictions.logits.end(), x.begin(), x.end());
    predictions.values.push_back(
        value_of(task.kind, std::span(predictions.logits).last(x.size())));
  }
}

std::vector<double> probabilities(TaskKind kind, std::span<const double> logits) {
  if (kind == TaskKind::regression) return {};
  std::vector<double> p(logits.begin(), logits.end());
  if (kind == TaskKind::binary) p.insert(p.begin(), 0);     // softmax(0, z) = (1-σ(z), σ(z))
  const double most = std::ranges::max(p);
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - most);
  for (double& x : p) x /= sum;
  return p;
}

}  // namespace minbert
