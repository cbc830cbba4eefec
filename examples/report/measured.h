// What studies measured, without the studies: the values that claims are judged by, in files that are small enough to
// ship (data/papers/measured/DOCUMENT.csv). Long form: a row a value; of rows drawn again (verdict.h) the interval.
//
//   # {"document": "cln", "command": ..., "date": ..., "environment": {...}, "items": {"tab1": {...}}, ...}
//   item,what,where,of,value
//   tab1,value,task=mrpc|norm=iso-bn,seed=11711,0.701        where: the columns of the evidence; of: a seed, or nothing
//   tab1,yardstick,task=mrpc|what=score,,0.68
//   tab2,interval,norm=none|k=1 > norm=iso-bn|k=1|low,,0.21
//
// A file holds the values of one study or several, one after the other.
#pragma once

#include <string>
#include <vector>

#include "report/paper.h"
#include "report/report.h"
#include "report/verdict.h"

namespace minbert {

// An item that was run, and its claims' evidence.
struct MeasuredItem {
  std::string name;
  Evidence evidence;
};

// The text of such a file. report: the study's, in the form of report.h. study: what the report lacks to be judged
// again: on (model and data, for readers), model (the document's), differences, judges.
std::string measured_text(const Paper& paper, const Json& report, const Json& study,
                          const std::vector<MeasuredItem>& items);

// The studies of FOLDER/*.csv, their claims judged anew; StudyReport::folder is the file. Errors name file and line.
std::vector<StudyReport> measured_reports(const std::string& folder);

// An item of a document as Markdown, for a README: of each study that has it, where it ran, its values and its claims.
// Between the lines "<!-- measured DOCUMENT ITEM ON -->" and "<!-- end -->" a README holds this, and a test compares
// them. on: a part of "MODEL on DATA"; "": all. Error: no study has it.
std::string measured_markdown(const std::vector<StudyReport>& studies, const std::string& document,
                              const std::string& item, const std::string& on = "");

}  // namespace minbert
