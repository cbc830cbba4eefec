// The log of a training run.
#include "run_log.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <utility>

#include "agreement.h"
#include "engine/fill.h"
#include "engine/profile.h"
#include "engine/ranks.h"
#include "minbert/files.h"

namespace minbert {
namespace {

Json array_of(const std::vector<double>& values) { return Json::array({values.begin(), values.end()}); }

std::vector<double> numbers(const Json& state, const std::string& key, size_t count, const std::string& folder) {
  std::vector<double> values;
  for (const Json& v : state[key].items()) values.push_back(v.number());
  MB_CHECK(values.size() == count, "{}/state.safetensors: \"{}\" has {} numbers, expected {}: the file is damaged",
           folder, key, values.size(), count);
  return values;
}

}  // namespace

RunLog::RunLog(const RunOptions& options, const std::string& folder, const Parameters& parameters,
               Optimizer& optimizer, size_t losses, std::function<Json()> state)
    : options_(options), folder_(folder), parameters_(parameters), optimizer_(optimizer), state_(std::move(state)),
      loss_sums_(losses), loss_counts_(losses), first_losses_(losses) {
  make_folder(folder_);
  if (ranks().first()) remove_unfinished(folder_);
  if (has_state(folder_)) {
    loaded_ = load_state(folder_, parameters_, optimizer_);
    step_ = count("step");
    batches_ = count("batches");
    seconds_ = loaded_["seconds"].number();
    loss_sums_ = numbers(loaded_, "loss_sums", losses, folder_);
    loss_counts_ = numbers(loaded_, "loss_counts", losses, folder_);
    std::cerr << formatted("going on after step {}\n", step_);
  } else if (options_.resume) {
    std::cerr << "nothing was saved yet: from the beginning\n";
  }
  if (options_.profile) profile_start();
}

RunLog::~RunLog() {
  if (options_.profile) profile_report(std::cout);
}

int64_t RunLog::count(const std::string& key, int64_t most) const {
  const int64_t value = loaded_[key].integer();
  MB_CHECK(0 <= value && value <= most, "{}/state.safetensors: \"{}\" is {}: the file is damaged", folder_, key, value);
  return value;
}

void RunLog::open(const std::string& step_columns, const std::string& reports, const std::string& report_columns,
                  int64_t rows) {
  if (!ranks().first()) return;
  steps_ = std::make_unique<CsvFile>(folder_ + "/steps.csv", step_columns + ",learning_rate,tokens,seconds", batches_);
  reports_ = std::make_unique<CsvFile>(folder_ + "/" + reports, report_columns + ",seconds", rows);
}

void RunLog::start(int64_t all_batches) {
  DropoutClock::current().seed = uint64_t(options_.seed);       // its step is set before each forward
  progress_ = std::make_unique<Progress>("", all_batches, Progress::Where::log, batches_);
  first_step_ = step_;
  since_ = now();
}

bool RunLog::goes_on(int64_t stop_after, const Shards& shards) {
  const bool stops = shards.interrupted() || (stop_after > 0 && step_ - first_step_ >= stop_after);
  if (stops || shards.save_due()) save();
  if (stops) say_stopped();
  profile_resume();
  return !stops;
}

void RunLog::say_stopped() const {
  std::cerr << formatted("stopped after step {}; go on with --resume --out {}\n", step_, options_.out);
}

void RunLog::add(const std::vector<Tensor>& losses, const BatchEntry& entry) {
  constexpr size_t most_waiting = 20;
  count_time();
  ++batches_;
  const Device device = losses[0].device();
  waiting_.push_back({entry, losses, step_ + 1, batches_, seconds_});
  if (device == Device::cpu || waiting_.size() == most_waiting) flush();
}

void RunLog::flush() {
  for (const Waiting& batch : std::exchange(waiting_, {})) read(batch);          // empty, whatever read() throws
}

void RunLog::read(const Waiting& batch) {
  const BatchEntry& entry = batch.entry;
  std::vector<real> losses;
  for (const Tensor& loss : batch.losses) losses.push_back(loss.item());
  const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
  if (!std::isfinite(sum)) {
    clear_tape();
    fail(formatted("the loss{} became {} in {}\n  {}", entry.name.empty() ? "" : " of " + entry.name,
                   std::isnan(sum) ? "NaN" : "infinite", entry.place, advice()));
  }
  std::string row = std::to_string(batch.step) + (entry.name.empty() ? "" : "," + entry.name);
  for (size_t i = 0; i < losses.size(); ++i) {
    loss_sums_[entry.first_sum + i] += double(losses[i]) * entry.counts[i];
    loss_counts_[entry.first_sum + i] += entry.counts[i];
    warn_of_growth(batch, entry.first_sum + i, double(losses[i]));
    row += "," + exact(double(losses[i]));
  }
  if (steps_)
    steps_->row(row + formatted(",{},{},{}", exact(entry.learning_rate), entry.tokens,
                                fixed(batch.seconds, 3)));
  shown_tokens_ += entry.tokens;
  if (!progress_->due()) return;
  progress_->show(batch.batch, formatted("{}  loss {}  {} tokens/s", entry.progress, fixed(sum, 4),
                                         fixed(double(shown_tokens_) / progress_->since_shown(), 0)));
  shown_tokens_ = 0;
}

// A first loss near 0, of a model that has learnt its data, grows by chance: 1 stands for it then.
void RunLog::warn_of_growth(const Waiting& batch, size_t sum, double loss) {
  constexpr double most = 100;
  if (!first_losses_[sum]) first_losses_[sum] = loss;
  if (warned_ || loss < most * std::max(1.0, *first_losses_[sum])) return;
  warned_ = true;
  progress_->finish();
  std::cerr << formatted("step {}: the loss{} is {}, that of the first batch was {}: the training diverges\n  {}\n",
                         batch.step, batch.entry.name.empty() ? "" : " of " + batch.entry.name, fixed(loss, 4),
                         fixed(*first_losses_[sum], 4), advice());
}

void RunLog::count_time() {
  if (since_) seconds_ += now() - *since_;
  since_ = now();
}

void RunLog::pause() {
  if (!since_) return;
  flush();
  count_time();
  since_.reset();
  progress_->finish();
  check_finite(parameters_, optimizer_, step_, advice());
  compare_parameters(step_, parameters_);
}

double RunLog::mean_loss(size_t sum) const { return loss_sums_[sum] / std::max(1.0, loss_counts_[sum]); }

void RunLog::report(const std::string& line, const std::string& row) {
  progress_->line(line);
  if (reports_ && !row.empty()) reports_->row(row + "," + fixed(seconds_, 1));
  loss_sums_.assign(loss_sums_.size(), 0);
  loss_counts_.assign(loss_counts_.size(), 0);
}

std::string RunLog::advice() const {
  return formatted("{}/model keeps {}. Try a smaller --lr, --clip 1 or --warmup 0.1; --check-nan names the operation.",
                   folder_, kept_);
}

void RunLog::save() {
  pause();
  if (ranks().first()) {
    steps_->flush();
    reports_->flush();
    Json state = state_();
    state.set("step", step_).set("batches", batches_).set("seconds", seconds_);
    state.set("loss_sums", array_of(loss_sums_)).set("loss_counts", array_of(loss_counts_));
    save_state(folder_, parameters_, optimizer_, state);
  }
  saved_ = now();
  since_ = saved_;
}

}  // namespace minbert
