// Scores of predictions, and their files in the course's and in GLUE's format.
#include "minbert/metrics.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "engine/text.h"
#include "minbert/choice.h"
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
  MB_CHECK(!predicted.empty() && predicted.size() == labels.size(),
           "a score needs one prediction for each label, and at least one: there are {} "
           "predictions and {} labels",
           predicted.size(), labels.size());
}

// Counts of true (t) and false (f) predictions of class 1 (p) and class 0 (n).
struct Confusion {
  double tp = 0, fp = 0, tn = 0, fn = 0;
  Confusion(std::span<const double> predicted, std::span<const double> labels) {
    check_lengths(predicted, labels);
    for (size_t i = 0; i < labels.size(); ++i) {
      const bool p = predicted[i] == 1, l = labels[i] == 1;
      tp += p && l;
      fp += p && !l;
      fn += !p && l;
      tn += !p && !l;
    }
  }
};

// 1 for the smallest, N for the largest; equal values get the mean of their ranks.
std::vector<double> ranks(std::span<const double> x) {
  std::vector<size_t> order(x.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::sort(order, {}, [x](size_t i) { return x[i]; });
  std::vector<double> rank(x.size());
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin; end < order.size() && x[order[end]] == x[order[begin]];) ++end;
    for (size_t i = begin; i < end; ++i) rank[order[i]] = double(begin + 1 + end) / 2;
  }
  return rank;
}

}  // namespace

// The share of predictions that equal their label.
std::optional<double> accuracy(std::span<const double> predicted, std::span<const double> labels) {
  check_lengths(predicted, labels);
  size_t right = 0;
  for (size_t i = 0; i < labels.size(); ++i) right += predicted[i] == labels[i];
  return double(right) / double(labels.size());
}

// F1 = 2 precision recall / (precision + recall) = 2 TP / (2 TP + FP + FN)
// Undefined if class 1 is neither predicted nor among the labels.
std::optional<double> f1(std::span<const double> predicted, std::span<const double> labels) {
  const Confusion n(predicted, labels);
  if (n.tp + n.fp + n.fn == 0) return std::nullopt;
  return 2 * n.tp / (2 * n.tp + n.fp + n.fn);
}

// (TP TN - FP FN) / sqrt((TP+FP) (TP+FN) (TN+FP) (TN+FN))                           Matthews 1975
// Undefined if one of the two classes is never predicted, or is not among the labels.
std::optional<double> matthews(std::span<const double> predicted, std::span<const double> labels) {
  const Confusion n(predicted, labels);
  const double product = (n.tp + n.fp) * (n.tp + n.fn) * (n.tn + n.fp) * (n.tn + n.fn);
  if (product == 0) return std::nullopt;
  return (n.tp * n.tn - n.fp * n.fn) / std::sqrt(product);
}

namespace {
// Outputs of a float network that differ by their rounding alone: what follows of them is noise.
bool is_constant(std::span<const double> x) {
  const auto [min, max] = std::ranges::minmax(x);
  return max - min <= 4e-7 * std::max(std::abs(min), std::abs(max));
}
}  // namespace

// r = sum (x-mx)(y-my) / sqrt(sum (x-mx)^2 sum (y-my)^2)
// Undefined if x or y is constant, but for rounding, or not finite.
std::optional<double> pearson(std::span<const double> x, std::span<const double> y) {
  check_lengths(x, y);
  const double mx = mean(x), my = mean(y);
  double xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mx) * (x[i] - mx);
    yy += (y[i] - my) * (y[i] - my);
    xy += (x[i] - mx) * (y[i] - my);
  }
  if (!(xx > 0 && yy > 0 && std::isfinite(xx * yy))) return std::nullopt;
  if (is_constant(x) || is_constant(y)) return std::nullopt;
  return std::clamp(xy / (std::sqrt(xx) * std::sqrt(yy)), -1.0, 1.0);
}

// Pearson's r of the ranks; undefined as it is.
std::optional<double> spearman(std::span<const double> x, std::span<const double> y) {
  check_lengths(x, y);
  const auto finite = [](double v) { return std::isfinite(v); };
  if (!std::ranges::all_of(x, finite) || !std::ranges::all_of(y, finite)) return std::nullopt;
  if (is_constant(x) || is_constant(y)) return std::nullopt;
  return pearson(ranks(x), ranks(y));
}

namespace {

struct Scoring {
  const char* name;
  std::optional<double> (*score)(std::span<const double> predicted, std::span<const double> labels);
};

std::string with_set(const std::string& name, const std::string& set) {
  return set.empty() ? name : name + "-" + set;
}

const Scoring& scoring(Metric metric) {
  static constexpr Scoring table[] = {{"accuracy", accuracy},
                                      {"Matthews", matthews},
                                      {"F1", f1},
                                      {"Pearson", pearson},
                                      {"Spearman", spearman}};  // as in enum Metric
  return table[size_t(metric)];
}

}  // namespace

TaskScores scores(const Task& task, std::span<const double> predicted,
                  std::span<const double> labels) {
  TaskScores all;
  for (const Metric metric : task.metrics) all.push_back(scoring(metric).score(predicted, labels));
  return all;
}

const char* metric_name(Metric metric) { return scoring(metric).name; }

std::vector<Measure> measures(const Task& task) {
  std::vector<Measure> all;
  for (const std::string& set : task.sets)
    for (const Metric metric : task.metrics) all.push_back({set, metric});
  return all;
}
std::string column_name(const Task& task, const Measure& measure) {
  return task.name + (measure.set.empty() ? "_" : "_" + measure.set + "_") +
         name_of(measure.metric);
}
std::string title_of(const Task& task, const std::string& set) { return with_set(task.title, set); }
std::string set_name(const Task& task, const std::string& set) { return with_set(task.name, set); }

std::string score_text(std::optional<double> score) {
  return score ? fixed(*score, 3) : "undefined";
}

double mean_score(std::span<const TaskScores> scores) {
  MB_CHECK(!scores.empty(), "the mean of no scores: at least one task is needed");
  double sum = 0;
  for (const TaskScores& s : scores) sum += s.at(0).value_or(0);
  return sum / double(scores.size());
}

Summary summarize(std::span<const double> runs) {
  MB_CHECK(!runs.empty(), "the mean of no runs: at least one is needed");
  const double mu = mean(runs);
  double squares = 0;
  for (double run : runs) squares += (run - mu) * (run - mu);
  return {mu, runs.size() == 1 ? 0 : std::sqrt(squares / double(runs.size() - 1))};
}

std::string mean_text(std::span<const double> runs, int digits) {
  const Summary summary = summarize(runs);
  return fixed(summary.mean, digits) +
         (runs.size() > 1 ? " ± " + fixed(summary.deviation, digits) : "");
}

std::string collapse_warning(const Task& task, std::span<const double> predicted) {
  if (predicted.size() < 2) return "";
  const auto [min, max] = std::ranges::minmax(predicted);
  const double apart = task.kind == TaskKind::regression ? 1e-3 * (task.high - task.low) : 1;
  if (max - min < apart)
    return formatted("{}: every prediction is \"{}\", so its scores say nothing", task.name,
                     in_words(task, min));
  return "";
}

void write_predictions(const std::string& folder, const Task& task, Split split,
                       const Dataset& data, std::span<const double> predicted,
                       const std::string& set) {
  const char* const split_name[] = {"train", "dev", "test"};
  const bool glue = task.prediction_column.empty();
  const std::string stem = with_set(task.prediction_stem, set);
  const std::string name = glue ? stem + (split == Split::test ? ".tsv" : "-dev.tsv")
                                : formatted("{}-{}-output.csv", stem, split_name[size_t(split)]);
  MB_CHECK(predicted.size() == data.examples.size(),
           "{}: there are {} predictions for {} examples of {}", name, predicted.size(),
           data.examples.size(), data.file);
  std::string text =
      glue ? "index\tprediction\n" : formatted("id \t {} \n", task.prediction_column);
  for (size_t i = 0; i < predicted.size(); ++i) {
    const bool clamped = split == Split::test && task.kind == TaskKind::regression;
    const double value = clamped ? std::clamp(predicted[i], task.low, task.high) : predicted[i];
    text += formatted(glue ? "{}\t{}\n" : "{} , {} \n", data.examples[i].id,
                      task.label_text(value));
  }
  write_file((std::filesystem::path(folder) / name).string(), text);
}

}  // namespace minbert
