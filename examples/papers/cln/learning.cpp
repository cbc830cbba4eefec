// γ_t in every norm, while the tasks take turns [CLN learning].
#include "papers/cln/cln.h"
#include "papers/recorded.h"

namespace minbert {
namespace {

// |γ_t| by recorded step, in each norm from the embeddings' on
std::vector<Series> lengths(const ClnRuns& runs, const std::string& task, int seed) {
  const RecordedRun run(runs.document, runs.training(cln_norms[1], seed));
  std::vector<Series> all;
  for (const Json& gain : runs.result(cln_norms[1], seed)["gains"].items())
    if (gain["task"].string() == task)
      all.push_back(run.of(gain["norm"].string(), formatted("|γ_t| of {}", task)));
  return all;
}

// A norm a row, a recorded step a column; of the first seed
Panel map_of(const ClnRuns& runs, const Task& task) {
  Panel panel{.title = task.title + ": |γ_t|", .x_label = "step",
              .y_label = "norm: 0 the embeddings', then two a layer"};
  for (const Series& series : lengths(runs, task.name, runs.o.seed)) {
    panel.y_names.push_back(std::to_string(panel.y_names.size()));
    panel.heat.values.push_back(series.y);
    panel.x_names.clear();
    for (const double step : series.x) panel.x_names.push_back(formatted("{}", step));
  }
  return panel;
}

// The mean over the norms of the lower half of the network, or of the upper; the norm in the middle is in neither
Series mean_of_half(const ClnRuns& runs, const std::string& task, const std::string& half, int seed) {
  const std::vector<Series> norms = lengths(runs, task, seed);
  const size_t n = norms.size() / 2, first = half == "lower" ? 0 : norms.size() - n;
  Series mean = norms[first];
  for (size_t i = first + 1; i < first + n; ++i)
    for (size_t step = 0; step < mean.y.size(); ++step) mean.y[step] += norms[i].y[step];
  for (double& y : mean.y) y /= double(n);
  return mean;
}

void learning(const ClnRuns& runs, ItemReport& report) {
  if (!was_recorded(runs.document, report)) return;
  report.figure("How long γ_t is in every norm, by step, with the first seed", runs.tasks(),
                [&](const Task& task) { return map_of(runs, task); }, {.columns = 3}, "norms");
  std::vector<RecordedRow> rows;
  for (const Task& task : runs.tasks())
    rows.push_back({{task.name}, task.title, std::bind_front(mean_of_half, std::cref(runs), task.name)});
  show_recorded(runs.document, report, {.columns = {"task"}, .of = "half", .y_label = "mean |γ_t| of the norms",
                                        .text = "The same in the lower and in the upper half of the norms, the mean "
                                                "over the seeds",
                                        .methods = {"lower", "upper"}}, rows);
}

}  // namespace

Item learning_item(const ClnRuns& runs) {
  const auto all = [runs] { return runs.all(); };
  return {"learning", all, std::bind_front(learning, runs)};
}

}  // namespace minbert
