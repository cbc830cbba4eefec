// The reasons to choose post-LN: networks of both placements, trained alike [NT placement].
#include <cmath>

#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/nt/transformer_norms.h"

namespace minbert {
namespace {

const std::vector<std::string> placements = {"post", "pre"};

// .1 is the largest rate at which LayerNorm and, with 1 layer, batch normalization converge as printed.
NtSetup setup_of(const NtRuns& runs, double layers, const std::string& placement, const std::string& norm, int seed) {
  return {.layers = int(layers), .width = int(runs.options().widths[0]), .norm = norm, .placement = placement,
          .seed = seed, .lr = 0.1};
}

// Without a norm the two placements are one.
std::vector<std::string> norms_of(const NtRuns& runs) {
  std::vector<std::string> all = runs.options().norms;
  std::erase(all, "none");
  return all;
}

template <class Visit>
void for_each_pair(const NtRuns& runs, const Visit& visit) {
  for (const std::string& norm : norms_of(runs))
    for (const double layers : runs.options().layers) visit(norm, layers);
}

std::vector<Run> trainings(const NtRuns& runs) {
  std::vector<Run> all;
  for_each_pair(runs, [&](const std::string& norm, double layers) {
    for (const std::string& placement : placements)
      for (const int seed : runs.seeds()) all.push_back(runs.training(setup_of(runs, layers, placement, norm, seed)));
  });
  return all;
}

void show(const NtRuns& runs, ItemReport& report) {
  LongTable table({"layers", "placement", "norm", "seed", "verdict", "first_loss", "last_loss", "dev_accuracy"});
  LongTable judged({"measure", "layers", "placement", "norm", "seed", "value"});
  std::vector<std::string> columns = {"norm"};
  for (const double layers : runs.options().layers)
    for (const std::string& placement : placements)
      columns.push_back(formatted("{}, {}", counted(int64_t(layers), "layer"), placement));
  std::vector<ItemReport::TableRow> rows;
  for_each_pair(runs, [&](const std::string& norm, double layers) {
    if (rows.empty() || rows.back().head != norm) rows.push_back({norm, {}});
    const std::string depth = formatted("{}", layers);
    std::map<std::string, NtCell> cells;            // of both placements
    for (const std::string& placement : placements) {
      NtCell& cell = cells[placement];
      std::vector<double> accuracies;
      for (const int seed : runs.seeds()) {
        const Json result = runs.result(runs.training(setup_of(runs, layers, placement, norm, seed)));
        cell.add(result);
        const std::optional<double> accuracy = last_accuracy(result);
        accuracies.push_back(accuracy.value_or(NAN));
        std::vector<std::string> row = {depth, placement, norm, std::to_string(seed)};
        judged.add({"accuracy", depth, placement, norm, std::to_string(seed)}, accuracy);
        for (std::string& text : outcome(result)) row.push_back(std::move(text));
        table.add(row, accuracy);
      }
      ItemReport::Cell shown = cell.shown();
      shown.note = shown.ours + "; " + shown.note;
      shown.ours = mean_text(accuracies, 3);
      rows.back().cells.push_back(shown);
    }
    for (size_t i = 0; i < runs.seeds().size(); ++i) {
      const bool post = counts_as_converged(cells["post"].verdicts[i]);
      judged.add({"as pre-LN", depth, "post", norm, std::to_string(runs.seeds()[i])},
                 post || !counts_as_converged(cells["pre"].verdicts[i]));
    }
  });
  report.csv(std::move(table));
  report.judge_by(std::move(judged));
  report.table("Share of the validation sentences that are right after the last epoch, with post-LN and with pre-LN",
               columns, rows);
  report.caption(formatted("networks of H = {} at a learning rate of .1; the class that most training sentences have "
                           "is right in {} of the validation sentences",
                           runs.options().widths[0], fixed(runs.data().majority, 3)));
  report.caption("the advantage of pre-LN is judged unimportant where post-LN converges whenever pre-LN does; better "
                 "is judged by the share that is right, over both depths; the rule of the verdicts stands with tab.1");
  runs.differs(report);
  report.differs("the slides argue, by reference to others, and show no network with pre-LN");
}

}  // namespace

Item nt_placement_item(const SharedNtRuns& runs) {
  return {"placement", "The reasons to choose post-LN", [=] { return trainings(*runs); },
          [=](ItemReport& report) { show(*runs, report); }};
}

}  // namespace minbert
