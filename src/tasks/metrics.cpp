// Scores of predictions, and their files in the course's format.
#include "minbert/metrics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert {
namespace {

double mean(std::span<const double> x) {
  double sum = 0, rest = 0;
  for (double v : x) sum += v;
  const double mu = sum / double(x.size());
  for (double v : x) rest += v - mu;
  return mu + rest / double(x.size());             // corrected once
}

void check_lengths(std::span<const double> predicted, std::span<const double> labels) {
  MB_CHECK(
      !predicted.empty() && predicted.size() == labels.size(),
      "a score needs one prediction for each label, and at least one: there are {} predictions and {} labels",
      predicted.size(), labels.size());
}

std::string shortest(double value) {               // the fewest digits that read back as the same float
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, float(value)).ptr};
}

}  // namespace

double accuracy(std::span<const double> predicted, std::span<const double> labels) {
  check_lengths(predicted, labels);
  size_t right = 0;
  for (size_t i = 0; i < labels.size(); ++i) right += predicted[i] == labels[i];
  return double(right) / double(labels.size());
}

std::optional<double> pearson(std::span<const double> x, std::span<const double> y) {
  check_lengths(x, y);
  const double mx = mean(x), my = mean(y);
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
    xy += (x[i] - mx) * (y[i] - my);
  }
  const bool constant =
      std::ranges::min(x) == std::ranges::max(x) || std::ranges::min(y) == std::ranges::max(y);
  if (constant || !(xx > 0 && yy > 0 && std::isfinite(xx * yy))) return std::nullopt;
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

std::optional<double> score(const Task& task, std::span<const double> predicted,
                            std::span<const double> labels) {
  if (task.metric == Metric::pearson) return pearson(predicted, labels);
  return accuracy(predicted, labels);
}

std::string score_text(std::optional<double> score) {
  if (!score) return "undefined";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, *score, std::chars_format::fixed, 3).ptr};
}

double mean_score(std::span<const std::optional<double>> scores) {
  MB_CHECK(!scores.empty(), "the mean of no scores: at least one task is needed");
  double sum = 0;
  for (const std::optional<double>& s : scores) sum += s.value_or(0);
  return sum / double(scores.size());
}

Summary summarize(std::span<const double> runs) {
  MB_CHECK(!runs.empty(), "the mean of no runs: at least one is needed");
  const double mu = mean(runs);
  double squares = 0;
  for (double run : runs) squares += (run - mu) * (run - mu);
  return {mu, runs.size() == 1 ? 0 : std::sqrt(squares / double(runs.size() - 1))};
}

std::string collapse_warning(const Task& task, std::span<const double> predicted) {
  if (predicted.size() < 2) return "";
  const auto [least, most] = std::ranges::minmax(predicted);
  if (task.kind != TaskKind::regression && least == most)
    return format("{}: every prediction is {}; its accuracy is only that class's share of the labels",
                  task.name, least);
  if (task.kind == TaskKind::regression && most - least < 1e-3 * (task.high - task.low))
    return format("{}: every prediction is about {}; a correlation says nothing here", task.name,
                  shortest(least));
  return "";
}

void write_predictions(const std::string& folder, const Task& task, Split split, const Dataset& data,
                       std::span<const double> predicted) {
  const char* const split_name[] = {"train", "dev", "test"};
  const std::string name = format("{}-{}-output.csv", task.prediction_stem, split_name[size_t(split)]);
  MB_CHECK(predicted.size() == data.examples.size(), "{}: there are {} predictions for {} examples of {}",
           name, predicted.size(), data.examples.size(), data.file);
  std::string text = format("id \t {} \n", task.prediction_column);
  for (size_t i = 0; i < predicted.size(); ++i)
    text += data.examples[i].id + " , " + shortest(std::clamp(predicted[i], task.low, task.high)) + " \n";
  write_file((std::filesystem::path(folder) / name).string(), text);
}

}  // namespace minbert
