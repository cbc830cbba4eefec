// The log of a training run.
#include "train/run_log.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <utility>

#include "engine/profile.h"
#include "engine/ranks.h"
#include "minbert/files.h"
#include "train/agreement.h"
#include "train/cli/train_mode.h"
#include "train/interrupt.h"

namespace minbert {
RunLog::RunLog(const RunOptions& options, const std::string& folder, const Parameters& parameters,
               size_t losses, size_t all_losses, const Json& sources, const State& state)
    : shards(options, parameters, losses),
      optimizer(parameters, {.kind = options.optimizer, .weight_decay = options.weight_decay,
                             .momentum = options.momentum,
                             .rate = rates_of(options.rate, parameters)}),
      options_(options), folder_(folder), parameters_(parameters), sources_(sources), state_(state),
      loss_sums_(all_losses), loss_counts_(all_losses) {
  MB_CHECK(options.momentum == 0 || options.optimizer == OptimizerKind::sgd,
           "--momentum {}: {} has none; it is of sgd", options.momentum,
           name_of(options.optimizer));
  state_.insert({{"step", &step_}, {"batches", &batches_}, {"report_rows", &report_rows_},
                 {"seconds", &seconds_}});
  make_folder(folder_);
  if (ranks().first()) {
    lock_.emplace(folder_);
    remove_unfinished(folder_);
  }
  if (has_state(folder_)) {
    const Json saved = load_state(folder_, parameters_, optimizer);
    for (const auto& [name, variable] : state_)
      std::visit([&, key = name](auto* v) {
        *v = std::remove_pointer_t<decltype(v)>(saved[key].number());
      }, variable);
    loss_sums_ = saved["loss_sums"].numbers();
    loss_counts_ = saved["loss_counts"].numbers();
    std::cerr << formatted("going on after step {}\n", step_);
  } else if (options_.resume) {
    std::cerr << "nothing was saved yet: from the beginning\n";
  }
  set_recompute(options_.recompute);
  set_check_nan(options_.check_nan);
  if (options_.profile) profile_start();
}

RunLog::~RunLog() {
  if (options_.profile) profile_report(std::cout);
}

bool RunLog::run(const std::function<void()>& loop, const std::function<bool()>& done) {
  bool interrupted = false;
  try {
    loop();
  } catch (const Interrupted&) {
    stop(!done());
    interrupted = true;
  } catch (const FileChanged&) {
    if (ranks().size() == 1) stop(!done());
    throw;
  }
  ranks().wait();                                   // until rank 0 has saved
  return interrupted;
}

void RunLog::start(const Plan& plan) {
  plan_ = plan;
  if (ranks().first()) {
    steps_ = std::make_unique<CsvFile>(
        folder_ + "/steps.csv", plan.step_columns + ",learning_rate,tokens,seconds", batches_);
    reports_ = std::make_unique<CsvFile>(folder_ + "/" + plan.reports,
                                         plan.report_columns + ",seconds", report_rows_);
  }
  DropoutClock::current().seed = uint64_t(options_.seed);       // its step is set before a forward
  progress_ = std::make_unique<Progress>("", plan.batches, Progress::Where::log, batches_);
  first_step_ = step_;
  since_ = now();
}

void RunLog::show_step(Observer* observer, const std::string& task, Module& network) {
  observer_ = options_.record > 0 && step_ % options_.record == 0 ? observer : nullptr;
  if (observer_) observer_->before_step(step_, task, network, parameters_);
}

void RunLog::show_gradients() {
  if (observer_) std::exchange(observer_, nullptr)->after_backward();
}

void RunLog::before_step(int64_t stop_after) {
  if (shards.interrupted() || (stop_after > 0 && step_ - first_step_ >= stop_after))
    throw Interrupted();
  if (shards.save_due()) save();
  profile_resume();
}

void RunLog::stop(bool is_to_save) {
  if (is_to_save && progress_) save();
  std::cerr << formatted("stopped after step {}; go on with --resume --out {}\n", step_,
                         options_.out);
}

void RunLog::add(std::span<const double> losses, const BatchEntry& entry) {
  count_time();
  ++batches_;
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  MB_CHECK(std::isfinite(sum), "the loss{} became {} in {}\n  {}",
           entry.name.empty() ? "" : " of " + entry.name, std::isnan(sum) ? "NaN" : "infinite",
           entry.where, advice());
  std::string row = std::to_string(step_ + 1) + (entry.name.empty() ? "" : "," + entry.name);
  for (size_t i = 0; i < losses.size(); ++i) {
    loss_sums_[entry.first_sum + i] += losses[i] * entry.counts[i];
    loss_counts_[entry.first_sum + i] += entry.counts[i];
    row += "," + float_text(losses[i]);
  }
  if (steps_)
    steps_->row(row + formatted(",{},{},{}", float_text(learning_rate()), entry.tokens,
                                fixed(seconds_, 3)));
  shown_tokens_ += entry.tokens;
  if (!progress_->due()) return;
  const double per_second = double(shown_tokens_) / progress_->since_shown();
  progress_->show(batches_, formatted("{}  loss {}  {} tokens/s", entry.progress, fixed(sum, 4),
                                      fixed(per_second, 0)));
  shown_tokens_ = 0;
}

double RunLog::learning_rate() const {
  return plan_.rate * schedule_factor(options_.schedule, step_, plan_.steps, options_.warmup);
}

// The first norm is measured in any case: a run's results have it.
void RunLog::count_time() {
  if (since_) seconds_ += now() - *since_;
  since_ = now();
}

void RunLog::pause() {
  if (!since_) return;
  count_time();
  since_.reset();
  progress_->finish();
  check_finite(parameters_, optimizer, step_, advice());
  compare_parameters(step_, parameters_);
}

double RunLog::mean_loss(size_t sum) const {
  return loss_sums_[sum] / std::max(1.0, loss_counts_[sum]);
}

void RunLog::report(const std::string& line, const std::string& row) {
  progress_->line(line);
  if (!row.empty()) ++report_rows_;
  if (reports_ && !row.empty()) reports_->row(row + "," + fixed(seconds_, 1));
  loss_sums_.assign(loss_sums_.size(), 0);
  loss_counts_.assign(loss_counts_.size(), 0);
}

std::string RunLog::advice() const {
  return formatted("{}/model keeps the last good weights. Try a smaller --lr, --clip 1 or "
                   "--warmup 0.1; --check-nan names the operation.", folder_);
}

void RunLog::save() {
  pause();
  if (ranks().first()) {
    steps_->flush();
    reports_->flush();
    Json position = Json::object({{"sources", sources_},
                                  {"loss_sums", Json::array_of(loss_sums_)},
                                  {"loss_counts", Json::array_of(loss_counts_)}});
    for (const auto& [name, variable] : state_)
      std::visit([&](const auto* v) { position.set(name, *v); }, variable);
    save_state(folder_, parameters_, optimizer, position);
  }
  saved_ = now();
  since_ = saved_;
}

}  // namespace minbert
