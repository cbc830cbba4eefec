// Several runs under the same seeds, side by side: with other norms, from scratch, ...
#pragma once

#include "minbert/trainer.h"
#include "report/figure.h"

namespace minbert {

// What differs between runs that are compared; all else, the seeds included, is the same.
struct Variant {
  // In tables and figures, and the name of its folder
  std::string label;
  std::string norm;
  Placement placement = Placement::post;
  std::string cls_norm = "none";
  double grad_norm = 0;                             // strength of gradient normalization; 0: none
  bool from_scratch = false;                        // new weights, of --model's sizes
};
TrainOptions options_of(TrainOptions options, const Variant& variant);
// For legends: all that it normalizes, but not where.
std::string norms_of(const Variant& variant);

// The variants that the options ask for: one, or with --compare layer and conditional-layer, and
// with --from-scratch beside it conditional-layer from scratch.
std::vector<Variant> variants_of(const TrainOptions& options);

// A variant's runs, one a seed.
struct VariantRuns {
  Variant variant;
  Names folders;                 // OUT/LABEL/seed-S
  std::vector<RunResult> results;
};
// Every seed with every variant, as a study in options.out: what is done already is not done again.
// None where they were interrupted.
// start: run_start, with_sources; each run's folder has its own run.json and report.html.
std::optional<std::vector<VariantRuns>> run_all(const Experiment& experiment,
                                                const std::vector<Variant>& variants,
                                                const Json& start, bool score_training);

// --compare, --seeds: runs them all, prints mean and standard deviation as the paper's tables,
// beside its numbers, and draws all runs; OUT/report.html shows them. Returns the exit status.
int compare(const Experiment& experiment, const std::vector<Variant>& variants, const Json& start);

// Norms side by side, a line each: dev scores, the steps until the first task's loss falls below
// to_loss, the first gradient, the time of a step; and their loss curves, drawn. Returns the exit
// status.
struct NormLists {
  Names norms, placements, cls_norms;
  Numbers grad_norms;
};
// Every one with every other
std::vector<Variant> norm_variants(const NormLists& lists, bool from_scratch);
int compare_norms(const Experiment& experiment, const std::vector<Variant>& variants,
                  const Json& start, double to_loss);

}  // namespace minbert
