// The training loop: per epoch all batches of all tasks, one optimizer [CLN loop], then the dev scores.
#include "minbert/trainer.h"

#include <cmath>
#include <filesystem>
#include <iostream>

#include "clock.h"
#include "cls_statistics.h"
#include "loss_reader.h"
#include "minbert/checkpoint.h"
#include "minbert/interrupt.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "minbert/profile.h"
#include "position.h"
#include "progress.h"
#include "run_folder.h"

namespace minbert {
namespace {

class Run {
 public:
  Run(const Experiment& experiment, const Variant& variant, uint64_t seed, const std::string& folder);
  RunResult go(int64_t stop_after, bool score_training);

 private:
  std::vector<TaskBatch> order(int64_t epoch) const;
  Tensor loss_of(const TaskBatch& of, const Batch& batch) const;
  [[noreturn]] void fail_at(const TaskBatch& batch, int64_t in_epoch, int64_t number, double loss) const;
  std::string what_is_kept() const;
  void take_step(const std::vector<TaskBatch>& batches, TrainingProgress& progress);
  void finish_epoch(TrainingProgress& progress);
  void write_all_predictions();
  Scores score_all(bool on_train);
  void save();

  const Experiment& experiment_;
  const TrainOptions& o_;
  Variant variant_;
  std::string folder_;
  uint64_t seed_;
  int64_t epoch_batches_;                           // in every epoch
  std::unique_ptr<Model> model_;
  Optimizer optimizer_;
  Position at_;
  LossReader losses_;
  SaveClock clock_;
  std::unique_ptr<CsvFile> steps_csv_, epochs_csv_;
  double since_ = 0;                                // training since then is not in the seconds of at_ yet
};

Run::Run(const Experiment& experiment, const Variant& variant, uint64_t seed, const std::string& folder)
    : experiment_(experiment), o_(experiment.options()), variant_(variant), folder_(folder), seed_(seed),
      epoch_batches_(int64_t(order(0).size())),
      model_(new_model(experiment, variant, seed, !has_state(folder))),
      optimizer_(model_->parameters,
                 {.kind = o_.optimizer, .weight_decay = o_.weight_decay, .momentum = o_.momentum}),
      clock_(o_.save_every) {
  make_folder(folder_);
  remove_unfinished(folder_);
  const size_t tasks = experiment.data().size();
  at_.loss_sums.resize(tasks), at_.loss_counts.resize(tasks);
  if (has_state(folder_)) at_ = from_json(load_state(folder_, model_->parameters, optimizer_));
  MB_CHECK(at_.batches == at_.epoch * epoch_batches_ + at_.batch_in_epoch,
           "{}: this run stopped at batch {} of epoch {} after {} batches in all, but now an epoch has {}: the data is "
           "not that with which it began", folder_, at_.batch_in_epoch, at_.epoch + 1, at_.batches, epoch_batches_);
  if (o_.resume)
    std::cout << (has_state(folder_) ? format("going on after step {}\n", at_.step)
                                     : std::string("nothing was saved yet: from the beginning\n"));
  std::string columns = "epoch";
  for (const TaskData& d : experiment.data()) {
    columns += "," + d.task.name + "_train_loss";
    for (const Measure& measure : measures(d.task)) columns += "," + column_name(d.task, measure);
  }
  steps_csv_ = std::make_unique<CsvFile>(folder_ + "/steps.csv",
                                         "step,task,loss,learning_rate,tokens,seconds", at_.batches);
  epochs_csv_ = std::make_unique<CsvFile>(folder_ + "/epochs.csv", columns + ",dev_mean,seconds", at_.epoch);
}

std::vector<TaskBatch> Run::order(int64_t epoch) const {
  std::vector<TaskSize> tasks;
  for (const TaskData& d : experiment_.data())
    tasks.push_back({d.task.name, int64_t(d.train.examples.size())});
  return epoch_batches(tasks, int(epoch), {parse_sampling(o_.sampling), o_.batch, !o_.no_shuffle, seed_});
}

Tensor Run::loss_of(const TaskBatch& of, const Batch& batch) const {
  const TaskData& data = experiment_.data()[size_t(of.task)];
  const Tensor logits = model_->network.forward(batch, model_->network.task_id(data.task.name));
  std::vector<double> labels;
  for (const int32_t e : of.examples) labels.push_back(data.train.examples[size_t(e)].label);
  return task_loss(data.task, logits, labels);
}

void Run::fail_at(const TaskBatch& batch, int64_t in_epoch, int64_t number, double loss) const {
  clear_tape();
  const TaskData& data = experiment_.data()[size_t(batch.task)];
  std::string ids;
  for (const int32_t e : batch.examples) ids += " " + data.train.examples[size_t(e)].id;
  fail(format("the loss of {} became {} in epoch {}, batch {} (step {}); its examples:{}\n  {}",
              data.task.name, std::isnan(loss) ? "NaN" : "infinite", at_.epoch + 1, in_epoch + 1,
              number, ids, what_is_kept()));
}

std::string Run::what_is_kept() const {
  const std::string model =
      at_.best_epoch < 0 ? "the initial model" : format("the model of epoch {}", at_.best_epoch + 1);
  return format(
      "{}/model keeps {}. Try a smaller --lr, --clip 1 or --warmup 0.1; --check-nan names the operation.",
      folder_, model);
}

// One optimizer step over one batch, or over --accumulate of them.
void Run::take_step(const std::vector<TaskBatch>& batches, TrainingProgress& progress) {
  const int64_t per_epoch = (int64_t(batches.size()) + o_.accumulate - 1) / o_.accumulate;
  const double lr =
      o_.learning_rate() * schedule_factor(o_.schedule, at_.step, per_epoch * o_.epochs, o_.warmup);
  const int64_t end = std::min<int64_t>(at_.batch_in_epoch + o_.accumulate, int64_t(batches.size()));
  size_t examples = 0;                              // of the step: each counts alike, whatever the size of its batch
  for (int64_t i = at_.batch_in_epoch; i < end; ++i) examples += batches[size_t(i)].examples.size();
  profile_resume();
  for (; at_.batch_in_epoch < end; ++at_.batch_in_epoch, ++at_.batches) {
    const TaskBatch& next = batches[size_t(at_.batch_in_epoch)];
    const TaskData& data = experiment_.data()[size_t(next.task)];
    DropoutClock::mine() = {seed_, uint64_t(at_.batches)};
    const Batch batch = pack(inputs(data.train, next.examples), {model_->network.task_id(data.task.name)});
    const Tensor loss = loss_of(next, batch);
    if (o_.trace && at_.batches == 0) print_tape(std::cout);
    backward(scale(loss, real(double(next.examples.size()) / double(examples))));
    at_.seconds += now() - since_, since_ = now();
    const int64_t in_epoch = at_.batch_in_epoch, number = at_.step + 1, tokens = batch.tokens();
    const std::string rest = format("{},{},{}", exact(lr), tokens, fixed(at_.seconds, 3));
    losses_.add({loss}, [=, this, &next, &data, &progress, done = at_.epoch * int64_t(batches.size()) + in_epoch + 1](
                            const std::vector<double>& values) {
      const double value = values[0];
      if (!std::isfinite(value)) fail_at(next, in_epoch, number, value);
      at_.loss_sums[size_t(next.task)] += value, at_.loss_counts[size_t(next.task)] += 1;
      steps_csv_->row(format("{},{},{},{}", number, data.task.name, exact(value), rest));
      progress.update(format("epoch {}/{}  {}", at_.epoch + 1, o_.epochs, data.task.name), value, tokens, done);
    });
  }
  if (o_.clip > 0 || at_.step == 0) optimizer_.clip(o_.clip);
  if (at_.step == 0) at_.first_gradient = optimizer_.gradient_norm();
  optimizer_.step(lr);
  ++at_.step;
}

Scores Run::score_all(bool on_train) {
  Scores scores;
  for (const TaskData& d : experiment_.data())
    scores.push_back(on_train ? scores_on({&d.train, 1}, model_->network, d.task)
                              : scores_on(d.dev, model_->network, d.task, &std::cout));
  model_->network.train();
  return scores;
}

void Run::finish_epoch(TrainingProgress& progress) {
  at_.seconds += now() - since_;
  check_finite(model_->parameters, optimizer_, at_.step, what_is_kept());
  progress.finish();
  const Scores dev = score_all(false);
  std::string row = std::to_string(at_.epoch + 1), line = format("epoch {}/{}", at_.epoch + 1, o_.epochs);
  for (size_t i = 0; i < dev.size(); ++i) {
    const Task& task = experiment_.data()[i].task;
    const double loss = at_.loss_sums[i] / std::max(1.0, at_.loss_counts[i]);
    row += "," + exact(loss);
    line += format("   {} loss {} dev", task.name, fixed(loss, 4));
    const std::vector<Measure> list = measures(task);
    for (size_t j = 0; j < list.size(); ++j) {
      row += "," + (dev[i][j] ? exact(*dev[i][j]) : "undefined");
      line += format(" {}{} {}", list[j].set.empty() ? "" : list[j].set + " ", metric_name(list[j].metric),
                     score_text(dev[i][j]));
    }
  }
  const double mean = mean_score(dev);
  const bool better = mean > at_.best;              // ties keep the earlier
  progress.line(line + "   mean " + fixed(mean, 4) + (better ? "  *" : ""));
  epochs_csv_->row(row + "," + exact(mean) + "," + fixed(at_.seconds, 1));
  at_.epochs_since_best = better ? 0 : at_.epochs_since_best + 1;
  if (better) {
    at_.best = mean, at_.best_epoch = at_.epoch;
    save_model(folder_ + "/model", experiment_.config(variant_), experiment_.tokenizer(), model_->parameters);
  }
  ++at_.epoch, at_.batch_in_epoch = 0;
  at_.loss_sums.assign(dev.size(), 0), at_.loss_counts.assign(dev.size(), 0);
  at_.finished = at_.epoch >= o_.epochs || (o_.patience > 0 && at_.epochs_since_best >= o_.patience);
  save();
  since_ = now();
}

void Run::save() {
  losses_.flush();
  check_finite(model_->parameters, optimizer_, at_.step, what_is_kept());
  steps_csv_->flush(), epochs_csv_->flush();
  save_state(folder_, model_->parameters, optimizer_, to_json(at_));
  clock_.saved();
}

void Run::write_all_predictions() {
  make_folder(folder_ + "/predictions");
  for (const TaskData& d : experiment_.data())
    for (const auto& [sets, split] : {std::pair(&d.dev, Split::dev), std::pair(&d.test, Split::test)})
      for (size_t i = 0; i < sets->size(); ++i)
        if (const Dataset& data = (*sets)[i]; !data.examples.empty())
          write_predictions(folder_ + "/predictions", d.task, split, data,
                            predict(model_->network, d.task, data).values, d.task.sets[i]);
}

RunResult Run::go(int64_t stop_after, bool score_training) {
  RunResult result;
  if (at_.epoch == 0 && at_.batches == 0) {
    if (!fit_cls_norm(model_->network, experiment_.data())) {
      std::cout << format("stopped before the first step; begin again with --resume --out {}\n", o_.out);
      result.interrupted = true;
      return result;
    }
    save_model(folder_ + "/model", experiment_.config(variant_), experiment_.tokenizer(), model_->parameters);
  }
  model_->network.train();
  std::cout << format("{} parameters, {} of them trained; {} batches an epoch\n", model_->parameters.count(),
                      model_->parameters.trainable(), epoch_batches_);
  TrainingProgress progress(epoch_batches_ * o_.epochs, at_.batches);
  since_ = now();
  const int64_t start = at_.step;
  while (at_.epoch < o_.epochs && !at_.finished && !result.interrupted) {
    const std::vector<TaskBatch> batches = order(at_.epoch);
    while (at_.batch_in_epoch < int64_t(batches.size()) && !result.interrupted) {
      take_step(batches, progress);
      if (clock_.due()) at_.seconds += now() - since_, save(), since_ = now();
      result.interrupted = interrupted() || (stop_after > 0 && at_.step - start >= stop_after);
    }
    losses_.flush();                                // before `batches` ends, which those that wait refer to
    if (at_.batch_in_epoch >= int64_t(batches.size())) finish_epoch(progress);
  }
  progress.finish();
  result.seconds = at_.seconds, result.best_epoch = at_.best_epoch, result.steps = at_.step;
  result.first_gradient = at_.first_gradient;
  if (result.interrupted && !at_.finished) {
    save();
    std::cout << format("stopped after step {}; go on with --resume --out {}\n", at_.step, o_.out);
    return result;
  }
  result.interrupted = false;
  if (o_.epochs == 0) return result;
  load_weights(folder_ + "/model", model_->parameters);           // the best epoch's
  result.dev = score_all(false);
  if (score_training) result.train = score_all(true);
  write_all_predictions();
  return result;
}

}  // namespace

RunResult train(const Experiment& experiment, const Variant& variant, uint64_t seed, const std::string& folder,
                int64_t stop_after, bool score_training) {
  if (experiment.options().profile) profile_start();
  RunResult result = Run(experiment, variant, seed, folder).go(stop_after, score_training);
  if (experiment.options().profile) profile_report(std::cout);
  return result;
}

}  // namespace minbert
