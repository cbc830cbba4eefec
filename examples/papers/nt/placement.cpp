// The reasons to choose post-LN: networks of both placements, trained alike [NT placement].
#include "engine/text.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {
namespace {

struct Network {
  double layers;
  Placement placement;
  std::string depth, title;                         // depth: "shallow" or "deep"
};
std::vector<Network> networks(const NtOptions& o) {
  std::vector<Network> all;
  for (const double layers : o.layers)
    for (const Placement placement : {Placement::post, Placement::pre})
      all.push_back(
          {layers, placement, layers == o.layers[0] ? "shallow" : "deep",
           formatted("{}, {}", counted(int64_t(layers), "layer"), placement)});
  return all;
}

// Without a norm the two placements are one.
Names norms_of(const NtOptions& o) {
  Names all = o.norms;
  std::erase(all, "none");
  return all;
}

// .1 as in curve_setup; the tables have LayerNorm converge at .5, too, and batch normalization with 5
// layers not at .1.
auto placement_grid(const SharedNtRuns& runs) {
  const auto run = [runs](const std::string& norm, const Network& n, int seed) {
    return runs->training({.layers = int(n.layers),
                           .width = int(runs->o.widths[0]),
                           .norm = norm,
                           .placement = n.placement,
                           .seed = seed,
                           .lr = 0.1});
  };
  return RunGrid(run, norms_of(runs->o), networks(runs->o), runs->seeds());
}

// [NT placement]
void show(const SharedNtRuns& runs, ItemReport& report) {
  LongTable table({"layers", "placement", "norm", "seed", "verdict", "first_loss", "last_loss",
                   "dev_accuracy"});
  LongTable evidence({"depth", "placement", "norm", "seed", "value"});
  const auto grid = placement_grid(runs);
  grid.each([&](const std::string& norm, const Network& n, int seed) {
    const Json result = runs->result(grid.run(norm, n, seed));
    const Names shown = outcome(result);
    table(n.layers, n.placement, norm, seed, shown[0], shown[1], shown[2]) = last_accuracy(result);
    evidence(n.depth, n.placement, norm, seed) = last_accuracy(result);
  });
  report.csv(table);
  report.judge_by(evidence, {100, 2, "%"});
  report.yardsticks(runs->yardsticks());
  report.table(
      "Share of the validation sentences that are right after the last epoch, with post-LN and "
      "with pre-LN: the median of the seeds, the least and the largest",
      "norm", norms_of(runs->o), networks(runs->o), [&](const std::string& norm, const Network& n) {
        return runs->cell([&](int seed) { return grid.run(norm, n, seed); }).accuracy();
      });
  report.caption(formatted(
      "networks of H = {} at a learning rate of .1; the class that most training sentences have is "
      "right in {} of the validation sentences",
      runs->o.widths[0], fixed(runs->data().majority, 3)));
  runs->differs(report);
}

}  // namespace

Item nt_placement_item(const SharedNtRuns& runs) {
  return {"placement", placement_grid(runs), std::bind_front(show, runs)};
}

}  // namespace minbert
