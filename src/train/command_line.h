// Command lines: options with their help, checked values, and a record of what was given.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "minbert/error.h"
#include "minbert/norm.h"
#include "minbert/options.h"

namespace minbert {

// A mistake on the command line: a program ends with status 2, and not with 1 as for other errors.
class UsageError : public Error {
 public:
  using Error::Error;
};
// What read() returns. An Error in it is a mistake on the command line.
template <class Read>
auto check_usage(const Read& read) {
  try {
    return read();
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

// A program's command line. Each option is bound to a variable that holds its default.
//
//   CommandLine line("predict", "Labels texts with a trained model.");
//   line.option("--model", model, "folder of a trained run", "DIR");
//   line.parse(argc, argv);    // --help, --version print and exit; a mistake prints what is valid
class CommandLine {
 public:
  CommandLine(std::string program, std::string description);
  ~CommandLine();

  // A heading in --help for the options that follow
  void section(const std::string& title);
  void option(const std::string& name, std::string& value, const std::string& help,
              const std::string& metavar);
  void option(const std::string& name, int& value, int least, const std::string& help,
              int most = std::numeric_limits<int>::max());
  void option(const std::string& name, double& value, double least, const std::string& help,
              double most = std::numeric_limits<double>::max());
  void option(const std::string& name, std::vector<std::string>& files, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);
  // names: may be several, separated by commas; values() has the first. older: values that mean one
  // of the valid ones, as the course's finetune means full-model.
  void choice(const std::string& names, std::string& value, const std::vector<std::string>& valid,
              const std::string& help, const std::map<std::string, std::string>& older = {});
  // read: the option's value for what was given, or Error
  void option(const std::string& names, std::string& value,
              const std::function<std::string(const std::string&)>& read, const std::string& help,
              const std::string& metavar);
  // Several, separated by commas, none twice; of names, or of numbers
  void list(const std::string& name, std::vector<std::string>& values,
            const std::vector<std::string>& valid, const std::string& help);
  void list(const std::string& name, std::vector<double>& values, double least,
            const std::string& help);
  // One of the table's norms with its options, or a list of them. help instead of a norm prints the
  // table and exits.
  void norm(const std::string& name, std::string& value, const NormTable& table,
            const std::string& help);
  void norms(const std::string& name, std::vector<std::string>& values, const NormTable& table,
             const std::string& help);
  // An option of older versions: any value but its default is an error that says what to give now.
  // A run that has stored the default goes on.
  void gone(const std::string& name, const std::string& by_default, const std::string& now);
  void epilogue(const std::string& text);           // behind the options in --help: examples

  // Exits with 2 after a mistake. without: the options that a start without any takes, and says so
  // on stderr; names that begin with data/ are of shipped files (about.h).
  void parse(int argc, char** argv, const std::string& without = "");
  void need(const std::vector<std::string>& names) const;        // Error: those that are empty

  bool given(const std::string& name) const;        // on this command line
  std::string value(const std::string& name) const;              // of one option, as text
  std::map<std::string, std::string> values() const;             // of every option, as text
  // As if it had been given, checked likewise
  void set(const std::string& name, const std::string& text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Bind the options above to the command line, with their help and the range of their values.
// default_lr: the rate for which --lr 0 stands.
void add_train_options(CommandLine& line, TrainOptions& options);
void add_pretrain_options(CommandLine& line, PretrainOptions& options);
void add_learn_options(CommandLine& line, RunOptions& options, const std::string& default_lr);
void add_run_options(CommandLine& line, RunOptions& options);
void add_machine_options(CommandLine& line, MachineOptions& options);

// Every option on which the result of a run depends, as text by its name.
std::map<std::string, std::string> settings_of(TrainOptions options);
std::map<std::string, std::string> settings_of(PretrainOptions options);
// Sets norm, placement and how new weights are drawn.
void configure(BertConfig& config, const RunOptions& options);

// ---- A run folder remembers how it was started (options.json in --out). Resuming takes those
// options.

// The beginning of every training program. again: the options of the run in --out are taken, but
// for those of `others` that are given; else --out is made, Error where it is in use. And
// use_machine.
void begin_run(CommandLine& line, const RunOptions& options, bool again,
               const std::set<std::string>& others = {});
void remember_options(const CommandLine& line, const std::string& folder);
// Sets what is remembered. Error where there is no run, or an option not of `others` was given
// otherwise: names each.
void recall_options(CommandLine& line, const std::string& folder,
                    const std::set<std::string>& others = {});

int64_t peak_memory();                              // the most bytes this process has held in RAM

}  // namespace minbert
