// The log of a training run.
#include "run_log.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "agreement.h"
#include "engine/profile.h"
#include "engine/ranks.h"
#include "minbert/files.h"
#include "train/interrupt.h"

namespace minbert {
RunLog::RunLog(const RunOptions& options, const std::string& folder, const Parameters& parameters,
               Optimizer& optimizer, size_t losses, std::function<Json()> state)
    : options_(options), folder_(folder), parameters_(parameters), optimizer_(optimizer),
      state_(std::move(state)), loss_sums_(losses), loss_counts_(losses) {
  make_folder(folder_);
  if (ranks().first()) {
    lock_.emplace(folder_);
    remove_unfinished(folder_);
  }
  if (has_state(folder_)) {
    loaded_ = load_state(folder_, parameters_, optimizer_);
    step_ = loaded_["step"].integer();
    batches_ = loaded_["batches"].integer();
    report_rows_ = loaded_["report_rows"].integer();
    seconds_ = loaded_["seconds"].number();
    loss_sums_ = loaded_["loss_sums"].numbers();
    loss_counts_ = loaded_["loss_counts"].numbers();
    std::cerr << formatted("going on after step {}\n", step_);
  } else if (options_.resume) {
    std::cerr << "nothing was saved yet: from the beginning\n";
  }
  if (options_.profile) profile_start();
}

RunLog::~RunLog() {
  if (options_.profile) profile_report(std::cout);
}

void RunLog::start(int64_t all_batches, const std::string& step_columns,
                   const std::string& reports, const std::string& report_columns) {
  if (ranks().first()) {
    steps_ = std::make_unique<CsvFile>(folder_ + "/steps.csv",
                                       step_columns + ",learning_rate,tokens,seconds", batches_);
    reports_ = std::make_unique<CsvFile>(folder_ + "/" + reports, report_columns + ",seconds",
                                         report_rows_);
  }
  DropoutClock::current().seed = uint64_t(options_.seed);       // its step is set before a forward
  progress_ = std::make_unique<Progress>("", all_batches, Progress::Where::log, batches_);
  first_step_ = step_;
  since_ = now();
}

void RunLog::before_step(int64_t stop_after, const Shards& shards) {
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
    row += "," + exact(losses[i]);
  }
  if (steps_)
    steps_->row(row + formatted(",{},{},{}", exact(entry.learning_rate), entry.tokens,
                                fixed(seconds_, 3)));
  shown_tokens_ += entry.tokens;
  if (!progress_->due()) return;
  const double per_second = double(shown_tokens_) / progress_->since_shown();
  progress_->show(batches_, formatted("{}  loss {}  {} tokens/s", entry.progress, fixed(sum, 4),
                                      fixed(per_second, 0)));
  shown_tokens_ = 0;
}

void RunLog::count_time() {
  if (since_) seconds_ += now() - *since_;
  since_ = now();
}

void RunLog::pause() {
  if (!since_) return;
  count_time();
  since_.reset();
  progress_->finish();
  check_finite(parameters_, optimizer_, step_, advice());
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
    Json state = state_();
    state.set("step", step_).set("batches", batches_).set("report_rows", report_rows_);
    state.set("seconds", seconds_);
    state.set("loss_sums", Json::array_of(loss_sums_))
        .set("loss_counts", Json::array_of(loss_counts_));
    save_state(folder_, parameters_, optimizer_, state);
  }
  saved_ = now();
  since_ = saved_;
}

}  // namespace minbert
