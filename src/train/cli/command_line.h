// Command lines: what was given sets the variables of a table of options.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "files/lock.h"
#include "minbert/options.h"
#include "train/cli/option_table.h"

namespace minbert {

// A program's command line.
//
//   CommandLine line("predict", "Labels texts with a trained model.");
//   line.option("--model", model, "folder of a trained run", "DIR");
//   line.closing("Prints a row for each text.", {"--model runs/first \"A lovely film.\""});
//   line.parse(argc, argv);    // --help, --version print and exit; a mistake prints what is valid
class CommandLine : public OptionTable {
 public:
  CommandLine(const std::string& program, const std::string& description)
      : program_(program), description_(description) {}
  // The end of --help: what the program writes, and examples, each without the program's name.
  // Where there are many options --help prints those of the examples alone, --help-all every one.
  void closing(const std::string& writes, const std::vector<std::string>& examples) {
    writes_ = writes;
    examples_ = examples;
  }

  // Exits with 2 after a mistake. without: the options that a start without any takes, and says so
  // on stderr; names that begin with data/ are of shipped files (about.h).
  void parse(int argc, char** argv, const std::string& without = "");
  void need(const std::vector<std::string>& names) const;        // Error: those that are empty
  // Error for words that are none of the program's options: names the nearest one.
  void check_expected(const std::vector<std::string>& words) const;
  bool given(const std::string& name) const { return given_.contains(name); }
  // The program as it was started: "build/bin/multitask", "minbert multitask"
  const std::string& call() const { return call_; }
  // As it can be typed again: "multitask --out runs/first", words in quotes where they need them
  const std::string& command() const { return command_; }

 private:
  std::string help(bool all) const;
  std::string examples() const;
  std::string program_, description_, writes_, call_, command_;
  std::vector<std::string> examples_;
  std::set<std::string> given_;                     // on this command line, by their first names
};

// Put the options of minbert/options.h into a table, with their help and the range of their values.
// default_lr: the rate for which --lr 0 stands.
void add_train_options(OptionTable& table, TrainOptions& options);
void add_pretrain_options(OptionTable& table, PretrainOptions& options);
void add_learn_options(OptionTable& table, RunOptions& options, const std::string& default_lr);
void add_run_options(OptionTable& table, RunOptions& options);
void add_machine_options(OptionTable& table, MachineOptions& options);
inline const std::string skip_bad_rows_help =
    "go on without rows that cannot be used, however many";

// Every option on which the result of a run depends, as text by its name. Error: a value that the
// command line would refuse.
std::map<std::string, std::string> settings_of(TrainOptions options);
std::map<std::string, std::string> settings_of(PretrainOptions options);
// The network that a run starts from: of the folder, or by --config where that is "".
BertConfig start_config(const std::string& folder, const RunOptions& options);
// Sets the dropout inside the encoder; -1 leaves it. Error for another number below 0.
void set_dropout(BertConfig& config, double p, const char* option);
// Sets norm and placement. Error for a norm that cannot run twice, with --recompute.
void configure(BertConfig& config, const RunOptions& options);

// ---- A run folder remembers how it was started (options.json in --out). Resuming takes those
// options.

// The beginning of every training program, with use_machine. A fresh run: --out is made, Error
// where it is not empty. Else the options of the run in --out are taken, but for those of
// `others` that are given. Unless it only looks, no other process can train in --out while the lock
// lives; the first rank has it.
enum class Start { fresh, resume, look };
[[nodiscard]] std::optional<FolderLock> begin_run(CommandLine& line, const RunOptions& options,
                                                  Start start,
                                                  const std::set<std::string>& others = {});
void remember_options(const OptionTable& table, const std::string& folder);
// Sets what is remembered; relative places are relative to the folder where the run was started.
// Error where there is no run, or an option not of `others` was given otherwise: names each. Places
// of data and models may be given otherwise: train() and pretrain() look whether their files are
// the same.
void recall_options(CommandLine& line, const std::string& folder,
                    const std::set<std::string>& others = {});

int64_t peak_memory();                              // the most bytes this process has held in RAM

}  // namespace minbert
