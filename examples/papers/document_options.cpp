// Binding the options of a document's program, and its grids.
#include "papers/document_options.h"

#include "minbert/task.h"
#include "report/figure.h"
#include "train/cli/command_line.h"

namespace minbert {

void add_document_options(CommandLine& line, DocumentOptions& o) {
  line.option("items", o.items, "items by their printed names; none: all of them", "ITEM");
  line.section("On what");
  if (!o.model.empty()) {
    line.option("--model", o.model, "a Hugging Face folder with a pre-trained BERT or RoBERTa",
                "DIR");
    line.option("--tasks", o.tasks, "tasks, separated by commas: " + task_names(), "LIST");
    line.option("--metric", o.metric,
                "metrics that choose the best epoch: mrpc=accuracy,stsb=pearson", "LIST");
  }
  const std::vector<Task> tasks = parse_tasks(o.tasks);
  const bool one = tasks.size() == 1;
  line.option("--data", o.data,
              formatted("folder with the {}: {}{}", one ? tasks[0].title : "tasks",
                        tasks[0].files.train, one ? "" : ", ..."),
              "DIR");
  line.option("--limit", o.limit, "only N rows of each file, evenly spaced; 0: all", Range{0});
  line.option("--skip-bad-rows", o.skip_bad_rows, skip_bad_rows_help);
  line.option("--max-length", o.max_length, "longer inputs are cut to this many tokens", Range{3});
  line.section("How much");
  line.option("--grid", o.grid,
              "the settings that are not given: some seconds, some minutes, or the document's");
  line.option("--epochs", o.epochs, "passes over the data", Range{1});
  line.option("--seeds", o.seeds, "repeat with N seeds: seed, seed+1, ...", Range{1, 24});
  line.option("--seed", o.seed, "the first of them", Range{0});
  line.section("Where");
  line.option("--out", o.out, "folder of the study: what is there already is not computed again",
              "DIR");
  line.option("--record", o.record,
              "every N-th step of a training measure every norm: sites.csv in its folder; 0: never", Range{0});
  line.option("--jobs", o.jobs, "runs side by side, with a thread each", Range{1, 1024});
  line.option("--only-run", o.only_run,
              "work on the run of this key alone: for the processes of --jobs", "KEY");
  add_machine_options(line, o);
  line.section("What of the document");
}

void begin_document(CommandLine& line, DocumentOptions& o, Grids grids) {
  o.tasks_given = o.model.empty() || line.given("--tasks");
  grids.quick.insert(grids.quick.begin(), {{"--epochs", "1"}, {"--seeds", "1"}, {"--limit", "64"}});
  if (o.grid != Grid::reduced)                             // the defaults
    for (const auto& [option, value] : o.grid == Grid::paper ? grids.paper : grids.quick)
      if (!line.given(option)) line.set(option, value);
  if (!o.only_run.empty()) o.threads = 1;
  use_machine(o);
  if (!o.command.empty()) o.command[0] = line.call();      // as it can be typed again
  o.settings = line.values();
  o.settings.erase("--only-run");
}

}  // namespace minbert
