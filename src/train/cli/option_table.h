// Options as a table: an entry names a variable and what it may be. The one table serves a command
// line, its --help, the options.json of a run, and the settings by which a study knows its runs.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "minbert/choice.h"
#include "minbert/norm.h"

namespace minbert {

struct Range {
  double least, most = std::numeric_limits<double>::max();
};

// A variable that is a choice: Placement*.
struct AnyChoice {
  template <class E>
    requires std::is_enum_v<E>
  AnyChoice(E* v)
      : names(choices<E>()), text([=] { return name_of(*v); }),
        set([=](const std::string& name, const char* of) { *v = choice<E>(name, of); }) {}
  std::vector<std::string> names;
  std::function<std::string()> text;
  std::function<void(const std::string& name, const char* of)> set;
};

struct Option {
  std::string names;      // separated by commas; the first is the one that is stored
  // Holds the default. Lists are separated by commas; on a command line files may be words, too.
  std::variant<bool*, int*, double*, std::string*, std::vector<std::string>*, std::vector<double>*,
               AnyChoice>
      variable;
  std::string help;
  // What a value may be, if the variable does not say so: any text, which --help calls by this
  // word; a number in a range; one of these names; a norm of a table.
  using Valid = std::variant<std::string, Range, std::vector<std::string>, const NormTable*>;
  Valid valid = {};
  std::string section = {};                         // its heading in --help

  std::string name() const { return names.substr(0, names.find(',')); }
  std::string text() const;                         // the variable's value
  void set(const std::string& text) const;          // Error says what is valid
  bool is_words() const;                            // a list of any words, as files
  std::string what() const;                         // "N", "DIR": a value, for --help
  // Does the help say what the default stands for, as "threads; 0: all cores" does?
  bool default_in_words() const;
  std::string full_help() const;                    // help, and the names that are valid
};

class OptionTable {
 public:
  void section(const std::string& title) { section_ = title; }       // of the options that follow
  void add(std::vector<Option> options);
  //   table.option("--seed", seed, "of every random number", Range{0});
  template <class T>
  void option(const std::string& names, T& variable, const std::string& help,
              const Option::Valid& valid = {}) {
    add({Option{names, &variable, help, valid}});
  }
  const std::vector<Option>& options() const { return options_; }
  const Option& find(const std::string& name) const;             // by its first name, or Error
  std::map<std::string, std::string> values() const;             // of every option, as text
  void set(const std::string& name, const std::string& text) { find(name).set(text); }

 protected:
  std::vector<Option> options_;

 private:
  std::string section_ = "Options";
};

}  // namespace minbert
