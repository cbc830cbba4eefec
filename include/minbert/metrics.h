// Scores of predictions, their mean over runs, prediction files in the course's and GLUE's formats.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "minbert/dataset.h"
#include "minbert/task.h"

namespace minbert {

// predicted, labels, x, y [N]. A task's predictions are classes, 0 or 1, or scores. The formula of
// each metric [LN-PEFT tab.4] [CLN metrics] is beside its code; if it divides 0 by 0 there is no
// score. Errors: N = 0, or two lists that differ in length.
std::optional<double> accuracy(std::span<const double> predicted, std::span<const double> labels);
// F1 of class 1. For f1 and matthews labels are 0 and 1.
std::optional<double> f1(std::span<const double> predicted, std::span<const double> labels);
std::optional<double> matthews(std::span<const double> predicted, std::span<const double> labels);
std::optional<double> pearson(std::span<const double> x, std::span<const double> y);
std::optional<double> spearman(std::span<const double> x, std::span<const double> y);

// A task has a score for each of its metrics on each of its dev sets; the leading metric of the
// first set is first.
struct Measure {
  std::string set;                                                  // "", or its name: "mm"
  Metric metric;
};
std::vector<Measure> measures(const Task& task);
std::string column_name(const Task& task, const Measure& measure);  // "mrpc_f1", "mnli_mm_accuracy"
std::string title_of(const Task& task, const std::string& set);     // "MRPC", "MNLI-mm"
std::string set_name(const Task& task, const std::string& set);     // "mrpc", "mnli-mm"

// A task's scores in the order of measures(); scores() computes those of one set. Errors: as of the
// metrics.
using TaskScores = std::vector<std::optional<double>>;
TaskScores scores(const Task& task, std::span<const double> predicted,
                  std::span<const double> labels);
std::string score_text(std::optional<double> score);                     // "0.515", or "undefined"
// The mean of the tasks' leading scores; an undefined one counts 0. Error without a task.
double mean_score(std::span<const TaskScores> scores);

// Several runs: their mean and sample standard deviation (divided by N-1; 0 for a single run).
// Error without a run.
struct Summary {
  double mean, deviation;
};
Summary summarize(std::span<const double> runs);
std::string mean_text(std::span<const double> runs, int digits);  // "0.380 ± 0.012", of one "0.380"

// "", or a sentence that says why the score means nothing: the same class for every input (on
// Quora's dev set that scores .625 or .375), or a constant similarity.
std::string collapse_warning(const Task& task, std::span<const double> predicted);

// folder/sst-dev-output.csv: the header "id \t Predicted_Sentiment ", then rows "ID , value "; for
// GLUE's tasks folder/RTE.tsv (RTE-dev.tsv; of a set mm: MNLI-mm.tsv): "index\tprediction", then
// "ID\tentailment". In a test file scores are clipped to the task's range, as servers want them; a
// dev file has the predictions that were scored, unclipped. Written atomically. Error if the
// numbers of predictions and examples differ.
void write_predictions(const std::string& folder, const Task& task, Split split,
                       const Dataset& data, std::span<const double> predicted,
                       const std::string& set = "");

}  // namespace minbert
