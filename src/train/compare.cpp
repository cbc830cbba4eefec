// Several runs under the same seeds, and the paper's two tables [CLN].
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "shared.h"

namespace minbert {
namespace {

struct Variant {
  std::string norm;
  std::vector<RunResult> runs;
};

// "0.5123 ± 0.0045", in percent for accuracies as the paper prints them
std::string cell(const Task& task, const std::vector<Scores>& runs, size_t i) {
  std::vector<double> values;
  for (const Scores& scores : runs)
    if (scores[i]) values.push_back(*scores[i]);
  if (values.empty()) return "undefined";
  const bool percent = task.metric == Metric::accuracy;
  for (double& v : values) v *= percent ? 100 : 1;
  const Summary s = summarize(values);
  std::ostringstream out;
  out << std::fixed << std::setprecision(percent ? 2 : 4) << s.mean;
  if (values.size() > 1) out << " ± " << s.deviation;
  if (values.size() < runs.size()) out << " (" << runs.size() - values.size() << " undefined)";
  return out.str();
}

size_t width(const std::string& utf8) {             // characters, not bytes
  return size_t(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}
std::string padded(const std::string& text, size_t to) {
  return text + std::string(to > width(text) ? to - width(text) : 0, ' ');
}

void print_table(const std::string& title, const Experiment& experiment, const std::vector<Variant>& variants,
                 const Scores RunResult::*part) {
  std::cout << '\n' << title << "\n  " << padded("", 24);
  for (const Variant& v : variants) std::cout << padded(v.norm, 22);
  std::cout << '\n';
  for (size_t i = 0; i < experiment.data().size(); ++i) {
    const Task& task = experiment.data()[i].task;
    std::cout << "  "
              << padded(task.title + (task.metric == Metric::accuracy ? " (accuracy, %)" : " (Pearson)"), 24);
    for (const Variant& v : variants) {
      std::vector<Scores> scores;
      for (const RunResult& run : v.runs) scores.push_back(run.*part);
      std::cout << padded(cell(task, scores, i), 22);
    }
    std::cout << '\n';
  }
}

}  // namespace

int compare(const Experiment& experiment, const std::vector<std::string>& norms) {
  const TrainOptions& o = experiment.options();
  std::vector<Variant> variants;
  for (const std::string& norm : norms) variants.push_back({norm, {}});
  for (int s = 0; s < o.seeds; ++s)
    for (Variant& v : variants) {
      const int64_t seed = int64_t(o.seed) + s;
      std::cout << "\n== " << v.norm << ", seed " << seed << " ==\n";
      v.runs.push_back(
          train(experiment, v.norm, uint64_t(seed), format("{}/{}/seed-{}", o.out, v.norm, seed)));
      if (v.runs.back().interrupted) return 130;
    }
  if (o.epochs == 0) {
    std::cout << "\nthe initial models are in " << o.out << "/NORM/seed-S/model\n";
    return 0;
  }
  std::cout << '\n' << o.seeds << (o.seeds == 1 ? " seed" : " seeds, mean ± standard deviation")
            << "; the best epoch of each run by its mean dev score\n";
  print_table("Training metrics [CLN]: on the training set", experiment, variants, &RunResult::train);
  print_table("Dev metrics (the paper prints the test set's; its labels are not public)", experiment,
              variants, &RunResult::dev);
  std::cout << '\n';
  for (const Variant& v : variants) {
    double seconds = 0;
    for (const RunResult& run : v.runs) seconds += run.seconds;
    std::cout << "  " << padded(v.norm, 24) << std::fixed << std::setprecision(1)
              << seconds / double(v.runs.size()) << " s of training a run\n";
  }
  return 0;
}

}  // namespace minbert
