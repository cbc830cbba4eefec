// LN-PEFT's table of test scores: the labels are not public, so GLUE's server has to score these files.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "engine/names.h"
#include "engine/text.h"
#include "minbert/metrics.h"
#include "papers/lnpeft/lnpeft.h"

namespace minbert {
namespace {

namespace fs = std::filesystem;

// The run at the best rate whose seed has the best dev score.
Run best_run(const LnPeftRuns& runs, const Task& task, const std::string& mode) {
  const double lr = runs.best_rate(task, mode);
  const auto score = [&](int seed) { return runs.score(task, runs.tuning(task, mode, lr, seed)); };
  return runs.tuning(task, mode, lr, std::ranges::max(runs.seeds(), {}, score));
}

// [LN-PEFT tab.3]
void tab3(const LnPeftRuns& runs, ItemReport& report) {
  LongTable table({"mode", "task", "file", "dev"});
  std::vector<std::string> columns = {"printed; our files"}, missing;
  std::vector<ItemReport::TableRow> rows;
  for (const std::string& mode : runs.modes()) rows.push_back({mode, {}});
  for (ItemReport::TableRow& row : rows) {
    const std::string folder = formatted("{}/tab3-{}", runs.document().study().out(), row.head);
    fs::remove_all(folder);
    make_folder(folder);
    for (const Task& task : runs.document().tasks()) {
      const Run run = best_run(runs, task, row.head);
      for (size_t i = 0; i < task.sets.size(); ++i) {
        const std::string& set = task.sets[i];
        const std::string ending = set.empty() ? "" : "-" + set, name = task.prediction_stem + ending + ".tsv";
        const std::string file = runs.document().study().folder(run) + "/predictions/" + name;
        const bool there = fs::exists(file);
        if (there) fs::copy_file(file, folder + "/" + name);
        if (row.head == rows[0].head) {
          columns.push_back(title_of(task, set));
          if (!there) missing.push_back(data_file(runs.options().data, task, Split::test, i));
        }
        ItemReport::Cell cell{"", there ? name : "no test file"};
        for (const double v : report.printed().values({{"mode", row.head}, {"task", set_name(task, set)}}))
          cell.printed = fixed(v, 3);
        row.cells.push_back(cell);
        table.add({row.head, set_name(task, set), there ? name : ""}, runs.score(task, run, i));
      }
    }
    std::cout << formatted("for GLUE's server:  zip -j {}.zip {}/*\n", folder, folder);
  }
  report.csv(std::move(table));
  report.table("Files for GLUE's server, of the best rate and seed on the dev set: zip -j tab3-MODE.zip tab3-MODE/*", columns, rows);
  if (!missing.empty()) report.differs("these test files are missing: " + joined(missing));
  report.differs("the labels of the test sets are not public; gluebenchmark.com scores an archive, which must also "
                 "have the files of the tasks that are not here");
}

}  // namespace

Item lnpeft_submission_item(const SharedRuns& runs) {
  return {"tab3", "Submission files for the test sets", [runs] { return runs->tunings(runs->modes()); },
          [runs](ItemReport& report) { tab3(*runs, report); }};
}

}  // namespace minbert
