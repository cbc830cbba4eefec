// Curves of what was recorded, and its end as evidence.
#include "papers/recorded.h"

#include <cmath>

#include "engine/text.h"

namespace minbert {

Series recorded(const Document& document, const Run& run, const std::string& site, const std::string& what) {
  const CsvTable table(document.folder(run) + "/sites.csv");
  const Numbers steps = table.numbers("step"), values = table.numbers("value");
  Series series;
  for (size_t i = 0; i < table.rows(); ++i)
    if (table.texts("site")[i] == site && table.texts("what")[i] == what) series.add(steps[i], values[i]);
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
  Names columns = figure.columns;
  columns.insert(columns.end(), {figure.of, "when", "seed", "value"});
  LongTable evidence(columns);
  const auto add = [&](const RecordedRow& row, const std::string& method, const char* when, int seed, double value) {
    Names keys = row.keys;
    keys.insert(keys.end(), {method, when, std::to_string(seed)});
    evidence.add(keys, finite(value));
  };
  const auto series_of = [&](const RecordedRow& row, const std::string& method) {
    std::vector<Series> all;
    for (const int seed : document.seeds()) all.push_back(figure.series(row, method, seed));
    return all;
  };
  report.figure(figure.text, rows, [&](const RecordedRow& row) {
    Panel panel{.title = row.title, .x_label = "step", .y_label = figure.y_label};
    for (const std::string& method : figure.methods) panel.curves.push_back(mean_of(method, series_of(row, method)));
    return panel;
  });
  report.table(figure.y_label + ": at the first step → at the end", "", rows, figure.methods,
               [&](const RecordedRow& row, const std::string& method) {
                 Numbers starts, ends;
                 for (size_t i = 0; const Series& series : series_of(row, method)) {
                   starts.push_back(series.y.empty() ? NAN : series.y[0]), ends.push_back(end_of(series));
                   add(row, method, "start", document.seeds()[i], starts.back());
                   add(row, method, "end", document.seeds()[i++], ends.back());
                 }
                 return formatted("{} → {}", mean_text(starts, 3), mean_text(ends, 3));
               });
  report.csv(evidence);
  report.judge_by(evidence, {1, 3, ""});
}

}  // namespace minbert
