// The training loop: per epoch all batches of all tasks, one optimizer [CLN loop], then the dev
// scores.
#include "minbert/trainer.h"

#include <iostream>
#include <set>
#include <sstream>

#include "agreement.h"
#include "engine/ranks.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "minbert/sampling.h"
#include "run_log.h"
#include "shards.h"
#include "train/command_line.h"
#include "train/interrupt.h"
#include "train/train_mode.h"

namespace minbert {
namespace {

std::string kept_mask(const std::string& folder) { return folder + "/mask.safetensors"; }

// A run keeps the mask with which it began, and goes on with that.
TrainOptions with_kept_mask(TrainOptions o, const std::string& folder) {
  if (!mask_file(o.train_mode).empty() && has_state(folder))
    o.train_mode = "mask:" + kept_mask(folder);
  return o;
}

class Run {
 public:
  Run(const Experiment& experiment, const TrainOptions& o, const std::string& folder)
      : experiment_(experiment), o_(o), folder_(folder), epoch_batches_(int64_t(order(0).size())),
        model_(new_model(experiment, with_kept_mask(o, folder), !has_state(folder))),
        shards_(o, model_->parameters, 1),
        optimizer_(model_->parameters, {.kind = o.optimizer, .weight_decay = o.weight_decay,
                                        .momentum = o.momentum}),
        log_(o, folder, model_->parameters, optimizer_, experiment.data().size(),
             [this] { return state(); }),
        finished_(o.epochs == 0) {
    if (!log_.loaded().is_null()) load(log_.loaded());
    else if (const std::string file = mask_file(o.train_mode); ranks().first() && !file.empty())
      write_file(kept_mask(folder), read_file(file));
    std::string columns = "epoch";
    for (const TaskData& d : experiment.data()) {
      columns += "," + d.task.name + "_train_loss";
      for (const Measure& measure : measures(d.task)) columns += "," + column_name(d.task, measure);
    }
    log_.open("step,task,loss", "epochs.csv", columns + ",dev_mean", epoch_);
    compare_start(settings_of(o), [&] { return data_fingerprint(); },
                  model_->parameters);
  }

  RunResult go(int64_t stop_after, bool score_training) {
    if (log_.batches() == 0) {
      if (!fit_cls_norm(model_->network, experiment_.data())) {
        std::cerr << formatted("stopped before the first step; begin again with --resume "
                               "--out {}\n", o_.out);
        result_.interrupted = true;
        return result_;
      }
      save_best();
    }
    model_->network.train();
    result_.parameters = model_->parameters.count();
    result_.trained = model_->parameters.trainable();
    const double share = double(result_.trained) / double(result_.parameters);
    std::cerr << formatted("{} parameters, {} of them trained ({} %); {} batches an epoch\n",
                           result_.parameters, result_.trained, fixed(100 * share, 3),
                           epoch_batches_);
    const Json trained = Json::object().set("mode", o_.train_mode)
        .set("parameters", result_.parameters).set("trained", result_.trained).set("share", share);
    if (ranks().first()) write_file(folder_ + "/trained.json", trained.dump());
    log_.start(epoch_batches_ * o_.epochs);
    try {
      learn(stop_after);
    } catch (const Interrupted&) {                  // while an epoch was scored
      log_.save();
      log_.say_stopped();
    }
    result_.interrupted = !finished_;
    result_.steps = log_.step();
    result_.seconds = log_.seconds();
    ranks().wait();                                 // until rank 0 has saved
    if (result_.interrupted || o_.epochs == 0) return result_;
    try {
      score_best(score_training);
    } catch (const Interrupted&) {                  // all was saved before
      log_.say_stopped();
      result_.interrupted = true;
    }
    return result_;
  }

 private:
  void learn(int64_t stop_after) {
    if (batch_in_epoch() == epoch_batches_) finish_epoch();   // saved before this epoch was scored
    while (!finished_ && log_.goes_on(stop_after, shards_)) {
      step(next_batches());
      if (log_.step() == 1) result_.first_gradient = optimizer_.gradient_norm();
      if (batch_in_epoch() == epoch_batches_) finish_epoch();
    }
  }

  void score_best(bool score_training) {
    const BertConfig config = experiment_.config(o_);
    load_weights(folder_ + "/model", model_->parameters, &config);
    result_.dev = score_all(false);
    if (score_training) result_.train = score_all(true);
    write_predictions(folder_ + "/predictions", model_->network, experiment_.data());
  }

  std::span<const TaskBatch> next_batches() {
    if (batches_.empty() || batch_in_epoch() == 0) batches_ = order(epoch_);
    const std::span rest = std::span(batches_).subspan(size_t(batch_in_epoch()));
    return rest.first(std::min(rest.size(), size_t(o_.accumulate)));
  }

  // One optimizer step over --accumulate batches: their loss is the mean over all their examples,
  // each times its task's weight (--task-weights).
  void step(std::span<const TaskBatch> batches) {
    for (const Part& part : shards_.parts(log_.batches(), sizes_of(batches))) {
      const TaskBatch& whole = batches[part.batch];
      const Tensor loss = forward(whole.task, part.examples_of(whole.examples), part.clock);
      const double task_weight = experiment_.data()[size_t(whole.task)].task.loss_weight;
      backward(scale(loss, real(task_weight * part.of_step)));
      shards_.fold(part, {{loss, part.of_batch}});
    }
    shards_.sum(log_.save_is_due());
    for (size_t i = 0; i < batches.size(); ++i) log(batches[i], shards_.losses(i));
    if (o_.clip > 0 || log_.step() == 0) optimizer_.clip(o_.clip);    // the first norm is reported
    optimizer_.step(learning_rate());
    log_.end_step();
  }

  // [] the loss, the mean over the examples
  Tensor forward(int t, std::span<const int32_t> examples, uint64_t clock) const {
    const TaskData& data = experiment_.data()[size_t(t)];
    const int id = model_->network.task_id(data.task.name);
    DropoutClock::current().step = clock;
    const Batch batch = pack(inputs(data.train, examples), {id});
    const Tensor logits = model_->network.forward(batch, id);
    const Tensor loss = task_loss(data.task, logits, labels(data.train, examples));
    if (o_.trace && clock == 0) print_tape(std::cout);
    return loss;
  }

  static std::vector<size_t> sizes_of(std::span<const TaskBatch> batches) {
    std::vector<size_t> sizes;
    for (const TaskBatch& batch : batches) sizes.push_back(batch.examples.size());
    return sizes;
  }

  static uint64_t fingerprint(const Example& example, uint64_t h) {
    for (const Sequence& input : example.inputs) h = minbert::fingerprint(input.ids, h);
    return minbert::fingerprint(std::span(&example.label, 1), minbert::fingerprint(example.id, h));
  }
  uint64_t data_fingerprint() const {               // of all that is learnt from, or scored on
    uint64_t h = 0;
    for (const TaskData& d : experiment_.data()) {
      for (const Example& e : d.train.examples) h = fingerprint(e, h);
      for (const auto* sets : {&d.dev, &d.test})
        for (const Dataset& set : *sets)
          for (const Example& e : set.examples) h = fingerprint(e, h);
    }
    return h;
  }

  void log(const TaskBatch& batch, const std::vector<Tensor>& losses) {
    const std::string& task = data_of(batch).task.name;
    int64_t tokens = 0;
    std::string ids;
    for (const int32_t e : batch.examples) {
      const Example& example = data_of(batch).train.examples[size_t(e)];
      ids += " " + example.id;
      for (const Sequence& input : example.inputs) tokens += int64_t(input.ids.size());
    }
    const std::string place = formatted("epoch {}, batch {} (step {}); its examples:{}", epoch_ + 1,
                                        batch_in_epoch() + 1, log_.step() + 1, ids);
    log_.add(losses, {.name = task, .first_sum = size_t(batch.task),
                      .counts = {double(batch.examples.size())},
                      .learning_rate = learning_rate(), .tokens = tokens,
                      .progress = formatted("epoch {}/{}  {}", epoch_ + 1, o_.epochs, task),
                      .place = place});
  }

  void finish_epoch() {
    log_.pause();
    const Scores dev = score_all(false);
    std::string row = std::to_string(epoch_ + 1);
    std::string line = formatted("epoch {}/{}", epoch_ + 1, o_.epochs);
    for (size_t i = 0; i < dev.size(); ++i) {
      const Task& task = experiment_.data()[i].task;
      row += "," + exact(log_.mean_loss(i));
      line += formatted("   {} loss {} dev", task.name, fixed(log_.mean_loss(i), 4));
      const std::vector<Measure> list = measures(task);
      for (size_t j = 0; j < list.size(); ++j) {
        row += "," + (dev[i][j] ? exact(*dev[i][j]) : "undefined");
        line += formatted(" {}{} {}", list[j].set.empty() ? "" : list[j].set + " ",
                          metric_name(list[j].metric), score_text(dev[i][j]));
      }
    }
    const double mean = mean_score(dev);
    const bool better = mean > best_;                 // ties keep the earlier
    log_.report(line + "   mean " + fixed(mean, 4) + (better ? "  *" : ""),
                row + "," + exact(mean));
    epochs_since_best_ = better ? 0 : epochs_since_best_ + 1;
    if (better) {
      best_ = mean;
      result_.best_epoch = epoch_;
      save_best();
      log_.keeps(formatted("the model of epoch {}", epoch_ + 1));
    }
    ++epoch_;
    finished_ = epoch_ >= o_.epochs || (o_.patience > 0 && epochs_since_best_ >= o_.patience);
    log_.save();
  }

  Scores score_all(bool on_train) {
    Scores scores;
    std::ostringstream warnings;
    for (const TaskData& d : experiment_.data())
      scores.push_back(on_train ? scores_on({&d.train, 1}, model_->network, d.task)
                                : scores_on(d.dev, model_->network, d.task, &warnings));
    if (said_.insert(warnings.str()).second) std::cerr << warnings.str();        // once a run
    model_->network.train();
    return scores;
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
    return epoch_batches(tasks, int(epoch), {parse_sampling(o_.sampling), o_.batch, !o_.no_shuffle,
                                             uint64_t(o_.seed)});
  }

  double learning_rate() const {
    const int64_t epoch_steps = (epoch_batches_ + o_.accumulate - 1) / o_.accumulate;
    return o_.learning_rate() *
           schedule_factor(o_.schedule, log_.step(), epoch_steps * o_.epochs, o_.warmup);
  }

  const TaskData& data_of(const TaskBatch& batch) const {
    return experiment_.data()[size_t(batch.task)];
  }
  int64_t batch_in_epoch() const { return log_.batches() - epoch_ * epoch_batches_; }

  Json state() const {
    return Json::object().set("epoch", epoch_).set("batch_in_epoch", batch_in_epoch())
        .set("best", best_).set("best_epoch", result_.best_epoch)
        .set("epochs_since_best", epochs_since_best_).set("first_gradient", result_.first_gradient)
        .set("finished", finished_);
  }

  void load(const Json& state) {
    epoch_ = log_.count("epoch");
    best_ = state["best"].number();
    result_.best_epoch = state["best_epoch"].integer();
    epochs_since_best_ = state["epochs_since_best"].integer();
    result_.first_gradient = state["first_gradient"].number();
    finished_ = state["finished"].boolean();
    if (result_.best_epoch >= 0)
      log_.keeps(formatted("the model of epoch {}", result_.best_epoch + 1));
    const int64_t in_epoch = state["batch_in_epoch"].integer();
    MB_CHECK(in_epoch == batch_in_epoch(),
             "{}: this run stopped at batch {} of epoch {} after {} batches in all, but now an "
             "epoch has {}: the data is not that with which it began", folder_, in_epoch,
             epoch_ + 1, log_.batches(), epoch_batches_);
  }

  const Experiment& experiment_;
  const TrainOptions& o_;
  std::string folder_;
  int64_t epoch_batches_;                           // in every epoch
  std::unique_ptr<Model> model_;
  Shards shards_;
  Optimizer optimizer_;
  RunLog log_;
  int64_t epoch_ = 0;
  std::vector<TaskBatch> batches_;                  // of this epoch
  double best_ = -1e300;                            // the best mean dev score, and the epochs since
  int64_t epochs_since_best_ = 0;
  bool finished_;
  std::set<std::string> said_;                      // warnings
  RunResult result_;
};

}  // namespace

RunResult train(const Experiment& experiment, const TrainOptions& options,
                const std::string& folder, int64_t stop_after, bool score_training) {
  check_shards(options);
  return Run(experiment, options, folder).go(stop_after, score_training);
}

RunResult train(const TrainOptions& options) {
  return train(Experiment(options), options, options.out);
}

}  // namespace minbert
