// The options that the programs of the documents share, and the grids that set many at once.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "minbert/dataset.h"
#include "minbert/shipped.h"
#include "train/cli/command_line.h"

namespace minbert {

enum class Grid { quick, reduced, paper };          // settings of some seconds, of minutes, the document's

struct DocumentOptions : MachineOptions {
  // model "": the program's networks are new ones, and it has no --model, --tasks and --metric
  std::string model = shipped("data/mini/bert"), data = shipped("data/mini/glue");
  std::string out;
  std::vector<std::string> items;                 // empty: all
  std::string tasks, metric;
  Grid grid = Grid::reduced;
  int record = 0;                                 // RunOptions::record of its trainings (papers/recorded.h)
  int max_length = 128, limit = 500, seed = 11711, seeds = 6, epochs = 2, jobs = 1;
  // By --tasks; else tasks whose files are missing are left out
  bool tasks_given = false, skip_bad_rows = false;
  std::string only_run;                           // see StudyOptions::only
  std::vector<std::string> command;               // of the program
  std::map<std::string, std::string> settings;    // every option as text: CommandLine::values()
  // How a task's files are read for a network of at most so many tokens.
  DatasetOptions dataset_options(int most_tokens) const {
    return {.max_length = std::min(max_length, most_tokens), .limit = limit, .skip_bad_rows = skip_bad_rows};
  }
  bool judges() const { return grid != Grid::quick; }   // which is a look at tables and figures
  // How often the rows of a measurement are drawn again; data/papers says it, too.
  int resamples() const { return judges() ? 200 : 0; }
};
// Binds them; the options that follow are the document's own.
void add_document_options(CommandLine& line, DocumentOptions& options);
using GridValues = std::vector<std::pair<std::string, std::string>>;     // options and their values
// Values of options that are not given: of --grid paper, the document's own; of --grid quick beside one epoch, one seed
// and 64 rows.
struct Grids {
  GridValues paper, quick = {};
};
// After the command line was read: sets the options of the grid; the machine, one thread for a process of one run.
void begin_document(CommandLine& line, DocumentOptions& options, Grids grids);

}  // namespace minbert
