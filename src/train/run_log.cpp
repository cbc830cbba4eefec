// The log of a training run.
#include "run_log.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

#include "minbert/interrupt.h"

namespace minbert {
namespace {

Json array_of(const std::vector<double>& values) { return Json::array({values.begin(), values.end()}); }

std::vector<double> numbers(const Json& array) {
  std::vector<double> values;
  for (const Json& v : array.items()) values.push_back(v.number());
  return values;
}

}  // namespace

RunLog::RunLog(const RunOptions& options, const std::string& folder, const Parameters& parameters,
               Optimizer& optimizer, size_t losses, std::function<Json()> state)
    : options_(options), folder_(folder), parameters_(parameters), optimizer_(optimizer), state_(std::move(state)),
      loss_sums_(losses), loss_counts_(losses), clock_(options.save_every) {
  make_folder(folder_);
  remove_unfinished(folder_);
  if (has_state(folder_)) {
    loaded_ = load_state(folder_, parameters_, optimizer_);
    step_ = loaded_["step"].integer();
    batches_ = loaded_["batches"].integer();
    seconds_ = loaded_["seconds"].number();
    loss_sums_ = numbers(loaded_["loss_sums"]);
    loss_counts_ = numbers(loaded_["loss_counts"]);
    std::cout << format("going on after step {}\n", step_);
  } else if (options_.resume) {
    std::cout << "nothing was saved yet: from the beginning\n";
  }
}

void RunLog::open(const std::string& step_columns, const std::string& reports, const std::string& report_columns,
                  int64_t rows) {
  steps_ = std::make_unique<CsvFile>(folder_ + "/steps.csv", step_columns + ",learning_rate,tokens,seconds", batches_);
  reports_ = std::make_unique<CsvFile>(folder_ + "/" + reports, report_columns + ",seconds", rows);
}

void RunLog::start(int64_t all_batches, uint64_t seed) {
  DropoutClock::current() = {seed, uint64_t(batches_)};          // from here on each backward() ends a step of it
  progress_ = std::make_unique<TrainingProgress>(all_batches, batches_);
  first_step_ = step_;
  since_ = now();
}

void RunLog::add(const std::vector<Tensor>& losses, const BatchEntry& entry) {
  pause();
  since_ = now();
  const std::string rest = format(",{},{},{}", exact(entry.learning_rate), entry.tokens, fixed(seconds_, 3));
  ++batches_;
  const auto read = [this, entry, rest, number = step_ + 1, done = batches_](const std::vector<double>& values) {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    if (!std::isfinite(sum)) {
      clear_tape();
      fail(format("the loss{} became {} in {}\n  {}", entry.name.empty() ? "" : " of " + entry.name,
                  std::isnan(sum) ? "NaN" : "infinite", entry.place(), advice()));
    }
    std::string row = std::to_string(number) + (entry.name.empty() ? "" : "," + entry.name);
    for (size_t i = 0; i < values.size(); ++i) {
      loss_sums_[entry.first_sum + i] += values[i];
      loss_counts_[entry.first_sum + i] += 1;
      row += "," + exact(values[i]);
    }
    steps_->row(row + rest);
    progress_->update(entry.progress, sum, entry.tokens, done);
  };
  losses_.add(losses, read);
}

double RunLog::mean_loss(size_t sum) const { return loss_sums_[sum] / std::max(1.0, loss_counts_[sum]); }

void RunLog::pause() {
  if (since_) seconds_ += now() - *since_;
  since_.reset();
}

void RunLog::report(const std::string& line, const std::string& row) {
  progress_->line(line);
  if (!row.empty()) reports_->row(row + "," + fixed(seconds_, 1));
  loss_sums_.assign(loss_sums_.size(), 0);
  loss_counts_.assign(loss_counts_.size(), 0);
}

std::string RunLog::advice() const {
  return format("{}/model keeps {}. Try a smaller --lr, --clip 1 or --warmup 0.1; --check-nan names the operation.",
                folder_, kept_);
}

void RunLog::check() const { check_finite(parameters_, optimizer_, step_, advice()); }

void RunLog::save() {
  pause();
  flush();
  check();
  steps_->flush();
  reports_->flush();
  Json state = state_();
  state.set("step", step_).set("batches", batches_).set("seconds", seconds_);
  state.set("loss_sums", array_of(loss_sums_)).set("loss_counts", array_of(loss_counts_));
  save_state(folder_, parameters_, optimizer_, state);
  clock_.saved();
  since_ = now();
}

void RunLog::save_if_due() {
  if (clock_.due()) save();
}

bool RunLog::must_stop(int64_t stop_after) const {
  return interrupted() || (stop_after > 0 && step_ - first_step_ >= stop_after);
}

void RunLog::stop() {
  save();
  std::cout << format("stopped after step {}; go on with --resume --out {}\n", step_, options_.out);
}

}  // namespace minbert
