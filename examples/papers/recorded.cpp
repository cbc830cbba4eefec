// Curves of what was recorded, and its end as evidence.
#include "papers/recorded.h"

#include <cmath>

#include "engine/text.h"

namespace minbert {

Series RecordedRun::of(const std::string& site, const std::string& what) const {
  const Numbers steps = sites_.numbers("step"), values = sites_.numbers("value");
  Series series;
  for (size_t i = 0; i < sites_.rows(); ++i)
    if (sites_.texts("site")[i] == site && sites_.texts("what")[i] == what) series.add(steps[i], values[i]);
  return series;
}

double end_of(const Series& series) {
  const size_t n = series.y.size(), last = (n + 3) / 4;
  return n ? summarize({series.y.end() - int64_t(last), series.y.end()}).mean : NAN;
}

bool was_recorded(const Document& document, ItemReport& report) {
  const int N = document.options().record;
  report.caption(N ? formatted("every {}th step of a run was recorded, each on its own batch, as it learned; the end "
                               "is the mean of the last quarter of these steps", N)
                   : "--record 0: nothing was recorded");
  return N > 0;
}

void show_recorded(const Document& document, ItemReport& report, const RecordedFigure& figure,
                   const std::vector<RecordedRow>& rows) {
  Names columns = figure.columns, heads = {""};
  columns.insert(columns.end(), {figure.of, "when", "seed", "value"});
  heads.insert(heads.end(), figure.methods.begin(), figure.methods.end());
  LongTable evidence(columns);
  Figure curves{.columns = 2, .panels = {}};
  std::vector<ItemReport::TableRow> lines;
  for (const RecordedRow& row : rows) {
    Panel panel{.title = row.title, .x_label = "step", .y_label = figure.y_label};
    lines.push_back({row.title, {}});
    for (const std::string& method : figure.methods) {
      std::vector<Series> of_seeds;
      Numbers starts, ends;
      for (const int seed : document.seeds()) {
        const Series& series = of_seeds.emplace_back(row.series(method, seed));
        starts.push_back(series.y.empty() ? NAN : series.y[0]), ends.push_back(end_of(series));
        for (const auto& [when, value] : {std::pair("start", starts.back()), {"end", ends.back()}}) {
          Names keys = row.keys;
          keys.insert(keys.end(), {method, when, std::to_string(seed)});
          evidence.add(keys, finite(value));
        }
      }
      panel.curves.push_back(mean_of(method, of_seeds));
      lines.back().cells.push_back({"", formatted("{} → {}", mean_text(starts, 3), mean_text(ends, 3))});
    }
    curves.panels.push_back(panel);
  }
  report.figure(curves, figure.text);
  report.table(figure.y_label + ": at the first step → at the end", heads, lines);
  report.csv(evidence);
  report.judge_by(evidence, {1, 3, ""});
}

}  // namespace minbert
