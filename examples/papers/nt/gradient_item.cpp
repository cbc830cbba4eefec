// The gradient slide as an item: the gradient after every layer, and after every factor
// [NT gradient].
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {
namespace {

// Each norm in both placements; without a norm they are one.
struct PlacedNorm {
  std::string norm;
  Placement placement;
  std::string title() const { return norm == "none" ? "none" : norm + ", " + name_of(placement); }
};
std::vector<PlacedNorm> placed_norms(const NtOptions& o) {
  std::vector<PlacedNorm> all;
  for (const std::string& norm : o.norms)
    for (const Placement placement : {Placement::post, Placement::pre})
      if (norm != "none" || placement == Placement::post) all.push_back({norm, placement});
  return all;
}

struct Depth {
  double layers;
  std::string title() const { return counted(int64_t(layers), "layer"); }
};
std::vector<Depth> depths(const NtOptions& o) {
  std::vector<Depth> all;
  for (const double layers : o.depths) all.push_back({layers});
  return all;
}

auto walk_grid(const SharedNtRuns& runs) {
  const auto run = [runs](const Depth& depth, const PlacedNorm& placed, int seed) {
    return runs->gradient_walk({.layers = int(depth.layers),
                                .width = int(runs->o.widths[0]),
                                .norm = placed.norm,
                                .placement = placed.placement,
                                .seed = seed});
  };
  return RunGrid(run, depths(runs->o), placed_norms(runs->o), runs->seeds());
}

// The mean of the seeds' logarithms, so that one large gradient does not hide the others.
Numbers geometric_mean(const std::vector<Numbers>& of_seeds) {
  Numbers mean(of_seeds[0].size());
  for (const Numbers& values : of_seeds)
    for (size_t i = 0; i < mean.size(); ++i)
      mean[i] += std::log(values[i]) / double(of_seeds.size());
  for (double& v : mean) v = std::exp(v);
  return mean;
}

// ‖dL/dx‖ after every layer, 0: the embeddings
Numbers after_layers(const Json& result) {
  Numbers all;
  for (size_t k = 0; const double size : result["tape"].numbers())  // of sublayers
    if (k++ % 2 == 0) all.push_back(size);
  return all;
}
// ‖dL/dx‖ after the last sublayer, then after each factor, or with pre-LN after each term of the
// sum
Numbers after_factors(const Json& result) {
  Numbers all = {result["tape"].numbers().back()};
  for (const Json& f : result["factors"].items())
    if (f["name"].string() != "term") all.push_back(f["gradient"].number_if().value_or(NAN));
  return all;
}
// After the first layer, divided by that after the last
Numbers ratio(const Json& result) {
  const Numbers all = after_layers(result);
  return {all[1] / all.back()};
}

// The values of every run; returns by how much products and sums differ from the tape at most.
double show_values(const SharedNtRuns& runs, ItemReport& report) {
  LongTable table({"depth", "placement", "norm", "layer", "seed", "value"});
  LongTable factors({"depth", "placement", "norm", "sublayer", "factor", "seed", "value"});
  // |log(ratio)|: 0 where the gradient neither grows nor vanishes
  LongTable ratios({"depth", "placement", "norm", "seed", "value"});
  double difference = 0;
  const auto grid = walk_grid(runs);
  grid.each([&](const Depth& depth, const PlacedNorm& placed, int seed) {
    const Json result = runs->result(grid.run(depth, placed, seed));
    for (int layer = 0; const double size : after_layers(result))
      table(depth.layers, placed.placement, placed.norm, layer++, seed) = finite(size);
    for (const Json& f : result["factors"].items())
      factors(depth.layers, placed.placement, placed.norm, f["sublayer"].integer(),
              f["name"].string(), seed) = f["gradient"].number_if();
    if (depth.layers != 1)  // one layer is both the first and the last
      ratios(depth.layers, placed.placement, placed.norm, seed) =
          finite(std::abs(std::log(ratio(result)[0])));
    difference = std::max(difference, result["difference"].number_if().value_or(INFINITY));
  });
  report.csv(table);
  report.csv(factors, "factors");
  report.judge_by(ratios);
  return difference;
}

Numbers mean_over_seeds(const SharedNtRuns& runs, const Depth& depth, const PlacedNorm& placed,
                        Numbers (*values)(const Json&)) {
  std::vector<Numbers> of_seeds;
  const auto grid = walk_grid(runs);
  for (const int seed : runs->seeds())
    of_seeds.push_back(values(runs->result(grid.run(depth, placed, seed))));
  return geometric_mean(of_seeds);
}

Panel layers_panel(const SharedNtRuns& runs, const Depth& depth) {
  Panel panel{.title = depth.title(), .x_label = "layer", .y_label = "norm of dL/dx", .log_y = true};
  for (const PlacedNorm& placed : placed_norms(runs->o))
    panel.curves.push_back(numbered(placed.title(), mean_over_seeds(runs, depth, placed, after_layers)));
  return panel;
}

Panel factors_panel(const SharedNtRuns& runs, const Depth& depth) {
  Panel panel{.title = depth.title(),
              .x_label = "sublayers passed, from the last down",
              .y_label = "norm after the factor",
              .log_y = true};
  for (const PlacedNorm& placed : placed_norms(runs->o)) {
    panel.curves.push_back(numbered(placed.title(), mean_over_seeds(runs, depth, placed, after_factors)));
    if (placed.placement != Placement::pre)
      for (double& x : panel.curves.back().x) x /= 2;
  }
  return panel;
}

// [NT gradient]
void show(const SharedNtRuns& runs, ItemReport& report) {
  const double difference = show_values(runs, report);
  report.figure(
      "Norm of dL/dx after every layer (0: the embeddings), post-LN, pre-LN and without a norm, "
      "for networks of several depths",
      depths(runs->o), std::bind_front(layers_panel, runs), {.columns = 3});
  report.figure(
      "Post-LN's product, factor by factor: the norm of dL/dx after each norm (halfway between two "
      "numbers) and each 1 + F' (at a number); pre-LN's sum, after each term",
      depths(runs->o), std::bind_front(factors_panel, runs), {.columns = 3}, "factors");
  std::vector<Depth> deep = depths(runs->o);
  std::erase_if(deep, [](const Depth& depth) { return depth.layers == 1; });
  if (!deep.empty())
    report.table(
        "Norm of dL/dx after the first layer, divided by that after the last (1: it neither grows "
        "nor vanishes)",
        "", placed_norms(runs->o), deep, [&](const PlacedNorm& placed, const Depth& depth) {
          const double of_seeds = mean_over_seeds(runs, depth, placed, ratio)[0];
          return std::isfinite(of_seeds) ? significant(of_seeds) : "undefined";
        });
  report.caption(formatted(
      "new networks of H = {}; the mean of the seeds' logarithms; on one batch of {}; products and "
      "sums by vector-Jacobian products differ from the tape by {} of dL/dx at most",
      runs->o.widths[0], runs->o.batch, significant(difference)));
  runs->differs(report);
}

}  // namespace

Item nt_gradient_item(const SharedNtRuns& runs) {
  return {"gradient", walk_grid(runs), std::bind_front(show, runs)};
}

}  // namespace minbert
