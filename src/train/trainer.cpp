// The training loop: per epoch all batches of all tasks, one optimizer [CLN loop], then the dev
// scores.
// Plain: train in examples/plain_bert.cpp
#include "minbert/trainer.h"

#include <cmath>
#include <iostream>
#include <numeric>

#include "engine/ranks.h"
#include "minbert/ops.h"
#include "minbert/sampling.h"
#include "train/agreement.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"
#include "train/run_log.h"
#include "train/sources.h"

namespace minbert {
namespace {

class Run {
 public:
  Run(const Experiment& experiment, const TrainOptions& o, const std::string& folder,
      Observer* observer)
      : experiment_(experiment), o_(o), folder_(folder), observer_(observer),
        epoch_batches_(int64_t(order(0).size())),
        model_(new_model(experiment, o, !has_state(folder))),
        log_(o, folder, model_->parameters, 1, experiment.data().size(), experiment.sources(),
             {{"epoch", &epoch_}, {"epoch_batches", &began_with_}, {"best", &best_},
              {"best_epoch", &result_.best_epoch}, {"first_gradient", &result_.first_gradient}}) {
    MB_CHECK(began_with_ == epoch_batches_,
             "{}: an epoch of this run had {} batches, but now has {}: the data is not that with "
             "which it began", folder, began_with_, epoch_batches_);
    compare_start(settings_of(o), experiment.sources(), model_->parameters);
  }

  RunResult go(int64_t stop_after, bool score_training) {
    result_.parameters = model_->parameters.count();
    result_.trained = model_->parameters.trainable();
    std::cerr << formatted("{} parameters, {} of them trained; {} batches an epoch\n",
                           result_.parameters, result_.trained, epoch_batches_);
    const auto loop = [&] {
      if (log_.batches() == 0) begin();
      learn(stop_after);
      if (o_.epochs > 0) score_best(score_training);
    };
    // A finished run was saved before it was scored.
    result_.interrupted = log_.run(loop, [this] { return finished(); });
    result_.steps = log_.step();
    result_.seconds = log_.seconds();
    return result_;
  }

 private:
  void begin() {
    fit_cls_norm(model_->network, experiment_.data());
    if (ranks().first() && !o_.model.empty() && !o_.from_scratch)
      keep_masked_word_head(model_folder(o_.model), folder_ + "/model");
    save_best();
  }

  void learn(int64_t stop_after) {
    std::string columns = "epoch";
    for (const TaskData& d : experiment_.data()) {
      columns += "," + d.task.name + "_train_loss";
      for (const Measure& measure : measures(d.task)) columns += "," + column_name(d.task, measure);
      if (length_of_gamma(d.task)) columns += formatted(",{}_gamma", d.task.name);
    }
    const int64_t epoch_steps = (epoch_batches_ + o_.accumulate - 1) / o_.accumulate;
    log_.start({.batches = epoch_batches_ * o_.epochs, .steps = epoch_steps * o_.epochs,
                .rate = o_.learning_rate(), .step_columns = "step,task,loss",
                .reports = "epochs.csv", .report_columns = columns + ",dev_mean"});
    model_->network.train();
    while (!finished()) {
      if (batch_in_epoch() == epoch_batches_) {
        finish_epoch();
      } else {
        log_.before_step(stop_after);
        step(next_batches());
        if (log_.step() == 1) result_.first_gradient = log_.optimizer.gradient_norm();
      }
    }
  }

  void score_best(bool score_training) {
    ranks().wait();                                 // until rank 0 has saved
    const BertConfig config = experiment_.config(o_);
    load_weights(folder_ + "/model", model_->parameters, &config);
    for (const TaskData& d : experiment_.data()) {
      result_.predictions.push_back(predict(model_->network, d.task, d.dev));
      result_.dev.push_back(scores(d.task, d.dev, result_.predictions.back(), &std::cerr));
      if (score_training)
        result_.train.push_back(scores_on({&d.train, 1}, model_->network, d.task));
      write(d.task, Split::dev, d.dev, result_.predictions.back());
      write(d.task, Split::test, d.test, predict(model_->network, d.task, d.test));
    }
  }

  void write(const Task& task, Split split, std::span<const Dataset> sets,
             const SetPredictions& predicted) const {
    const std::string to = folder_ + "/predictions";
    make_folder(to);
    for (size_t i = 0; i < sets.size() && ranks().first(); ++i)
      if (!sets[i].examples.empty())
        write_predictions(to, task, split, sets[i], predicted[i].values, task.sets[i]);
  }

  // What the next step learns from: an epoch takes the tasks' batches in task_order's order
  // (src/tasks/sampling.cpp).
  std::span<const TaskBatch> next_batches() {
    if (batches_.empty() || batch_in_epoch() == 0) batches_ = order(epoch_);
    const std::span rest = std::span(batches_).subspan(size_t(batch_in_epoch()));
    return rest.first(std::min(rest.size(), size_t(o_.accumulate)));
  }

  // One optimizer step over --accumulate batches [CLN loop]: their loss is the mean over all their
  // examples, each times its task's weight (--task-weights). Of one batch, in one process and
  // unweighted, it is the loop of examples/fine_tune.cpp: forward, backward, clip, step.
  void step(std::span<const TaskBatch> batches) {
    log_.show_step(observer_, data_of(batches[0]).task.name, model_->network);
    for (const BatchPart& part : log_.shards.parts(log_.batches(), sizes_of(batches))) {
      const TaskBatch& whole = batches[part.batch];
      const Tensor loss = forward(whole.task, part.examples_of(whole.examples), part.clock);
      const double task_weight = experiment_.data()[size_t(whole.task)].task.loss_weight;
      backward(scale(loss, real(task_weight * part.of_step)));
      log_.show_gradients();
      log_.shards.fold(part, {{loss, part.of_batch}});
    }
    log_.shards.sum(log_.save_is_due());
    for (size_t i = 0; i < batches.size(); ++i) log(batches[i], log_.shards.losses(i));
    if (o_.clip > 0 || log_.step() == 0)            // the first norm is reported
      log_.optimizer.clip(o_.clip);
    log_.optimizer.step(log_.learning_rate());
    log_.end_step();
  }

  // [] the loss, the mean over the examples. Every row of the batch gets the id of the task
  // [CLN replaces].
  Tensor forward(int t, std::span<const int32_t> examples, uint64_t clock) const {
    const TaskData& data = experiment_.data()[size_t(t)];
    const int id = model_->network.task_id(data.task.name);
    DropoutClock::current().step = clock;
    const auto [batch, labels] = labeled(data.train, examples, {id});
    const Tensor logits = model_->network.forward(batch, id);
    const Tensor loss = task_loss(data.task, logits, labels);
    if (o_.trace && clock == 0) print_tape(std::cout);
    return loss;
  }

  static std::vector<size_t> sizes_of(std::span<const TaskBatch> batches) {
    std::vector<size_t> sizes;
    for (const TaskBatch& batch : batches) sizes.push_back(batch.examples.size());
    return sizes;
  }

  void log(const TaskBatch& batch, std::span<const double> losses) {
    const std::string& task = data_of(batch).task.name;
    int64_t tokens = 0;
    std::string ids;
    for (const int32_t e : batch.examples) {
      const Example& example = data_of(batch).train.examples[size_t(e)];
      ids += " " + example.id;
      for (const Sequence& input : example.inputs) tokens += int64_t(input.ids.size());
    }
    const std::string where = formatted("epoch {}, batch {} (step {}); its examples:{}", epoch_ + 1,
                                        batch_in_epoch() + 1, log_.step() + 1, ids);
    log_.add(losses, {.name = task, .first_sum = size_t(batch.task),
                      .counts = {double(batch.examples.size())},
                      .tokens = tokens,
                      .progress = formatted("epoch {}/{}  {}", epoch_ + 1, o_.epochs, task),
                      .where = where});
  }

  void finish_epoch() {
    log_.pause();
    Scores dev;
    for (const TaskData& d : experiment_.data())
      dev.push_back(scores_on(d.dev, model_->network, d.task));
    model_->network.train();
    std::string row = std::to_string(epoch_ + 1);
    std::string line = formatted("epoch {}/{}", epoch_ + 1, o_.epochs);
    for (size_t i = 0; i < dev.size(); ++i) {
      const Task& task = experiment_.data()[i].task;
      row += "," + float_text(log_.mean_loss(i));
      line += formatted("   {} loss {} dev", task.name, fixed(log_.mean_loss(i), 4));
      const std::vector<Measure> list = measures(task);
      for (size_t j = 0; j < list.size(); ++j) {
        row += "," + (dev[i][j] ? float_text(*dev[i][j]) : "undefined");
        line += formatted(" {}{} {}", list[j].set.empty() ? "" : list[j].set + " ",
                          metric_name(list[j].metric), score_text(dev[i][j]));
      }
      if (const auto length = length_of_gamma(task)) row += "," + float_text(*length);
    }
    const double mean = mean_score(dev);
    const bool better = mean > best_;                 // ties keep the earlier
    log_.report(line + "   mean " + fixed(mean, 4) + (better ? "  *" : ""),
                row + "," + float_text(mean));
    if (better) {
      best_ = mean;
      result_.best_epoch = epoch_;
      save_best();
    }
    ++epoch_;
    log_.save();
  }

  // |γ_t|, the mean over all conditional norms, of which each has γ_t in row t [CLN eq.4]; none
  // without such norms.
  std::optional<double> length_of_gamma(const Task& task) const {
    const size_t t = size_t(model_->network.task_id(task.name));
    std::vector<real> room;
    double sum = 0, norms = 0;
    for (const Parameter& p : model_->parameters.all()) {
      if (!p.name.ends_with(".task_weight")) continue;
      const size_t H = size_t(p.value.cols());
      const auto gamma = p.value.on_host(room).subspan(t * H, H);
      sum += std::sqrt(std::inner_product(gamma.begin(), gamma.end(), gamma.begin(), 0.0));
      ++norms;
    }
    return norms > 0 ? std::optional(sum / norms) : std::nullopt;
  }

  void save_best() {
    if (ranks().first())
      save_model(folder_ + "/model", experiment_.config(o_), experiment_.tokenizer(),
                 model_->parameters);
  }

  std::vector<TaskBatch> order(int64_t epoch) const {
    std::vector<TaskSize> tasks;
    for (const TaskData& d : experiment_.data())
      tasks.push_back({d.task.name, int64_t(d.train.examples.size())});
    return epoch_batches(tasks, int(epoch), {o_.sampling, o_.batch, !o_.no_shuffle,
                                             uint64_t(o_.seed)});
  }

  const TaskData& data_of(const TaskBatch& batch) const {
    return experiment_.data()[size_t(batch.task)];
  }
  int64_t batch_in_epoch() const { return log_.batches() - epoch_ * epoch_batches_; }

  bool finished() const {
    const int64_t since_best = epoch_ - 1 - result_.best_epoch;
    return epoch_ >= o_.epochs || (o_.patience > 0 && since_best >= o_.patience);
  }

  const Experiment& experiment_;
  const TrainOptions& o_;
  std::string folder_;
  Observer* observer_;
  int64_t epoch_batches_;                           // in every epoch
  int64_t began_with_ = epoch_batches_;             // batches of an epoch when the run began
  int64_t epoch_ = 0;                               // epochs that were scored
  std::vector<TaskBatch> batches_;                  // of this epoch
  double best_ = -1e300;                            // the best mean dev score
  RunResult result_;
  std::unique_ptr<Model> model_;
  RunLog log_;
};

}  // namespace

RunResult train(const Experiment& experiment, const TrainOptions& options,
                const std::string& folder, int64_t stop_after, bool score_training,
                Observer* observer) {
  check_shards(options);
  check_sources(folder, experiment.sources());
  return Run(experiment, options, folder, observer).go(stop_after, score_training);
}

}  // namespace minbert
