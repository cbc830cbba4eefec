// LN-PEFT's table of test scores: the labels are not public, so GLUE's server has to score these
// files.
#include <algorithm>
#include <filesystem>

#include "engine/names.h"
#include "engine/text.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

// The run at the best rate whose seed has the best dev score.
Run best_run(const LnPeftRuns& runs, const Task& task, const std::string& mode) {
  const LnPeftSetting best = runs.best(task, mode);
  const Numbers scores = runs.scores(first_dev_sets({task})[0], best).points;
  return runs.tuning(task, best,
                     runs.o.seed + int(std::ranges::max_element(scores) - scores.begin()));
}

// [LN-PEFT tab.3]
void tab3(const LnPeftRuns& runs, ItemReport& report) {
  const Document& document = runs.document;
  const std::vector<DevSet> sets = dev_sets(runs.tasks(), false);
  const auto folder = [&](const std::string& mode) {
    return formatted("{}/tab3-{}", runs.o.out, mode);
  };
  for (const std::string& mode : runs.modes()) {
    fs::remove_all(folder(mode));
    make_folder(folder(mode));
  }
  LongTable table({"mode", "task", "file", "dev"});
  Names missing;
  const auto copy_predictions = [&](const std::string& mode, const DevSet& set) {
    const Run run = best_run(runs, set.task, mode);
    const std::string& which = set.measure.set;
    const std::string name = set.task.prediction_stem + (which.empty() ? "" : "-" + which) + ".tsv";
    const std::string file = document.folder(run) + "/predictions/" + name;
    const bool there = fs::exists(file);
    if (there)
      fs::copy_file(file, folder(mode) + "/" + name);
    else if (const size_t i = index_of(which, set.task.sets, "set"); mode == runs.modes()[0])
      missing.push_back(i < set.task.files.test.size() ? data_file(runs.o.data, set.task, Split::test, i)
                                                       : set.title + " has none");
    table(mode, set.key(), there ? name : "") = document.score(run, set).value_or(0);
    ItemReport::Cell cell{"", there ? name : "no test file"};
    for (const double v : report.printed().values({{"mode", mode}, {"task", set.key()}}))
      cell.printed = fixed(v, 3);
    return cell;
  };
  Names columns = {"printed; our files", "% of full"};
  for (const DevSet& set : sets) columns.push_back(set.title);
  std::vector<ItemReport::TableRow> rows;
  for (const std::string& mode : runs.modes()) {
    rows.push_back({mode, {runs.share(report.printed(), mode)}});
    for (const DevSet& set : sets) rows.back().cells.push_back(copy_predictions(mode, set));
  }
  report.table(
      "Files for GLUE's server, of the best rate and seed on the dev set: zip -j tab3-MODE.zip "
      "tab3-MODE/*",
      columns, rows);
  report.csv(table);
  if (!missing.empty()) report.differs("these test files are missing: " + joined(missing));
}

}  // namespace

Item lnpeft_submission_item(const LnPeftRuns& runs) {
  return {"tab3", runs.tunings(runs.modes()),
          std::bind_front(tab3, runs)};
}

}  // namespace minbert
