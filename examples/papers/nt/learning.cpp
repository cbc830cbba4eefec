// The gradient slide's product and sum while the networks learn [NT learning].
#include <algorithm>
#include <cmath>

#include "engine/text.h"
#include "papers/nt/transformer_norms.h"
#include "papers/recorded.h"

namespace minbert {
namespace {

std::vector<int> depths(const NtOptions& o) {
  std::vector<int> all;
  for (const double layers : o.layers) all.push_back(int(layers));
  if (o.judges() && !std::ranges::count(all, 12)) all.push_back(12);          // ours: as deep as BERT-base
  return all;
}

auto grid(const SharedNtRuns& runs) {
  const auto run = [runs](int layers, Placement placement, int seed) {
    return runs->training(runs->recorded_setup(layers, placement, seed));
  };
  return RunGrid(run, depths(runs->o), std::vector{Placement::post, Placement::pre}, runs->seeds());
}

// |log10| of dL/dx's length at the first norm over that at the last: 0 where it neither grows nor vanishes on its way
Series change(const SharedNtRuns& runs, int layers, Placement placement, int seed) {
  const RecordedRun run(runs->document, grid(runs).run(layers, placement, seed));
  const auto length = [&](int layer, const char* norm) {
    return run.of(formatted("bert.encoder.layer.{}.{}", layer, norm), "|dL/dx|");
  };
  Series first = length(0, "attention.output.LayerNorm"), last = length(layers - 1, "output.LayerNorm");
  for (size_t i = 0; i < first.y.size(); ++i) first.y[i] = std::abs(std::log10(first.y[i] / last.y[i]));
  return first;
}

// [NT learning]
void show(const SharedNtRuns& runs, ItemReport& report) {
  runs->differs(report);
  if (!was_recorded(runs->document, report)) return;
  std::vector<RecordedRow> rows;
  for (const int layers : depths(runs->o))
    rows.push_back({{formatted("{}", layers)}, counted(int64_t(layers), "layer"),
                    [&runs, layers](const std::string& placement, int seed) {
                      return change(runs, layers, choice<Placement>(placement, "placement"), seed);
                    }});
  show_recorded(runs->document, report,
                {.columns = {"layers"}, .of = "placement", .y_label = "|log10(first / last)| of |dL/dx|",
                 .text = "How many powers of ten lie between the lengths of dL/dx at the first norm's input and at the "
                         "last one's, while the network learns: post-LN's product and pre-LN's sum",
                 .methods = {"post", "pre"}}, rows);
}

}  // namespace

Item nt_learning_item(const SharedNtRuns& runs) {
  return {"learning", grid(runs), std::bind_front(show, runs)};
}

}  // namespace minbert
