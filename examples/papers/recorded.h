// What a document's runs recorded while they learned (--record, runs/recorder.h), as one of its items shows it.
#pragma once

#include "papers/document.h"
#include "report/curves.h"

namespace minbert {

// What a run recorded.
class RecordedRun {
 public:
  RecordedRun(const Document& document, const Run& run) : sites_(document.folder(run) + "/sites.csv") {}
  Series of(const std::string& site, const std::string& what) const;    // over the recorded steps

 private:
  CsvTable sites_;
};
// The mean over the last quarter of the steps, since each is of one batch.
double end_of(const Series& series);
// False, and said, where nothing was recorded.
bool was_recorded(const Document& document, ItemReport& report);

struct RecordedRow {                                // a panel, and a row of the table
  Names keys;
  std::string title;
  std::function<Series(const std::string& method, int seed)> series;
};

// A panel for each row with a curve for each method, the mean over the seeds; a table of the first recorded step and
// of the end, by which claims are judged: columns of the row's keys, `of`, when (start or end), seed.
struct RecordedFigure {
  Names columns;                                    // of a row's keys
  std::string of;                                   // what the methods are, as a column: "norm"
  std::string y_label, text;                        // text: under the figure
  Names methods;
};
void show_recorded(const Document& document, ItemReport& report, const RecordedFigure& figure,
                   const std::vector<RecordedRow>& rows);

}  // namespace minbert
