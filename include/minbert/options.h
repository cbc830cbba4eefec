// Command lines: options with their help, checked values, and a record of what was given.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "minbert/norm.h"

namespace minbert {

// A program's command line. Each option is bound to a variable that holds its default.
//
//   CommandLine line("predict", "Labels texts with a trained model.");
//   line.option("--model", model, "folder of a trained run", "DIR");
//   line.parse(argc, argv);              // --help prints and exits; a mistake prints what is valid
class CommandLine {
 public:
  CommandLine(std::string program, std::string description);
  ~CommandLine();

  // A heading in --help for the options that follow
  void section(const std::string& title);
  void option(const std::string& names, std::string& value, const std::string& help,
              const std::string& metavar = "");
  void option(const std::string& names, int& value, int least, const std::string& help,
              int most = std::numeric_limits<int>::max());
  void option(const std::string& names, double& value, double least, const std::string& help,
              double most = std::numeric_limits<double>::max());
  void option(const std::string& names, std::optional<double>& value, double least,
              const std::string& help,
              double most = std::numeric_limits<double>::max());  // none: not given
  void option(const std::string& names, std::vector<std::string>& files, const std::string& help);
  // table, if not empty, is what NAME help prints before it exits.
  void choice(const std::string& names, std::string& value, std::vector<std::string> valid,
              const std::string& help, const std::string& table = "");
  // Several, separated by commas, none twice; of names, or of numbers.
  void list(const std::string& names, std::vector<std::string>& values,
            std::vector<std::string> valid, const std::string& help, const std::string& table = "");
  void list(const std::string& names, std::vector<double>& values, double least,
            const std::string& help);
  // One of the table's norms with its options; or a list of them.
  void norm(const std::string& names, std::string& value, const NormTable& table,
            const std::string& help);
  void norms(const std::string& names, std::vector<std::string>& values, const NormTable& table,
             const std::string& help);
  // An option of older versions. Given, it is an error that says what to give now; a run that has
  // stored it with the value that it had by default goes on without it.
  void gone(const std::string& name, const std::string& by_default, const std::string& now);
  void flag(const std::string& names, bool& value, const std::string& help);
  // An older spelling: --option finetune for --fine-tune-mode full-model
  void alias(const std::string& name, const std::string& of,
             std::map<std::string, std::string> values, const std::string& help);
  void epilogue(const std::string& text);           // behind the options in --help: examples

  // Exits with 2 after a mistake. without: the options that a start without any takes, and says so
  // on stderr.
  void parse(int argc, char** argv, const std::string& without = "");

  // On this command line, by this name or by an alias
  bool given(const std::string& name) const;
  std::map<std::string, std::string> values() const;  // of every option, as text, by its first name
  // As if it had been given, checked likewise
  void set(const std::string& name, const std::string& text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// main() for a program: prints an exception as "program: message" on stderr and returns 1.
int run_program(const std::string& program, const std::function<int()>& body);

}  // namespace minbert
