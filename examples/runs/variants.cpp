// The runs of several variants under the same seeds, as a study.
#include "files/fingerprint.h"
#include "runs/comparison.h"
#include "runs/recorder.h"
#include "runs/run_page.h"
#include "runs/study.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"
#include "train/sources.h"

namespace minbert {

// One legend serves the panels of all placements.
std::string norms_of(const Variant& v) {
  return v.norm + (v.cls_norm == "none" ? "" : "-" + v.cls_norm) +
         (v.grad_norm > 0 ? formatted("-gradient-{}", v.grad_norm) : "");
}

TrainOptions options_of(TrainOptions o, const Variant& v) {
  o.norm = v.norm;
  o.placement = v.placement;
  o.cls_norm = v.cls_norm;
  o.grad_norm = v.grad_norm;
  o.from_scratch = v.from_scratch;
  return o;
}

std::vector<Variant> variants_of(const TrainOptions& o) {
  const auto variant = [&](const std::string& label, const std::string& norm, bool from_scratch) {
    return Variant{label, norm, o.placement, o.cls_norm, o.grad_norm, from_scratch};
  };
  if (!o.compare)
    return {variant(o.from_scratch ? "from-scratch" : o.norm, o.norm, o.from_scratch)};
  std::vector<Variant> variants = {variant("layer", "layer", false),
                                   variant("conditional-layer", "conditional-layer", false)};
  if (o.from_scratch) variants.push_back(variant("from-scratch", "conditional-layer", true));
  return variants;
}

std::vector<Variant> norm_variants(const NormLists& lists, bool from_scratch) {
  std::vector<Variant> variants;
  for (const std::string& placement : lists.placements)
    for (const std::string& norm : lists.norms)
      for (const std::string& cls_norm : lists.cls_norms)
        for (const double alpha : lists.grad_norms) {
          variants.push_back({"", norm, choice<Placement>(placement, "placement"), cls_norm, alpha, from_scratch});
          variants.back().label = norms_of(variants.back()) + "-" + placement;
        }
  return variants;
}

std::optional<std::vector<VariantRuns>> run_all(const Experiment& experiment,
                                                const std::vector<Variant>& variants,
                                                const Json& start, bool score_training) {
  const TrainOptions& o = experiment.options();
  // Runs are known by what they read, wherever that lies.
  const auto identity_of = [&](const TrainOptions& options) {
    OptionValues identity = settings_of(options);
    for (const std::string& place : place_options) identity.erase(place);
    identity["files"] = fingerprint_text(experiment.sources().dump(-1));
    return identity;
  };
  std::vector<Run> runs;
  for (int s = 0; s < o.seeds; ++s)
    for (const Variant& variant : variants) {
      TrainOptions options = options_of(o, variant);
      options.seed = o.seed + s;
      const std::string in_out = formatted("{}/seed-{}", variant.label, options.seed);
      const auto work = [=, &experiment, &start](const std::string& folder) {
        const RunResult result = train_recorded(experiment, options, folder, score_training);
        if (result.interrupted) throw Interrupted();
        if (options.epochs > 0)
          report_run(folder, experiment, result, with_options(start, settings_of(options)));
        return json_of(experiment, result);
      };
      runs.push_back({formatted("{}, seed {}", variant.label, options.seed), identity_of(options),
                      work, 1, in_out});
    }
  Study study({.out = o.out, .show = true});
  if (!study.run(runs)) return std::nullopt;
  std::vector<VariantRuns> all;
  for (size_t v = 0; v < variants.size(); ++v) {
    all.push_back({variants[v], {}, {}});
    for (size_t i = v; i < runs.size(); i += variants.size()) {
      all.back().folders.push_back(study.folder(runs[i]));
      all.back().results.push_back(result_of(experiment, study.result(runs[i])));
    }
  }
  return all;
}

}  // namespace minbert
