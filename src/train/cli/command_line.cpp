// Command lines by CLI11: the only file that includes it.
#include "train/cli/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "engine/names.h"
#include "engine/process.h"
#include "engine/ranks.h"
#include "engine/text.h"
#include "files/about.h"
#include "minbert/shipped.h"
#include "train/cli/outputs.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

constexpr size_t help_width = 100, help_column = 34, many_options = 16;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// Breaks the text into lines of at most `width` characters, all but the first behind a margin.
std::string wrapped(const std::string& text, size_t width, size_t margin = 0) {
  std::string lines;
  size_t column = 0;
  for (const std::string& word : words_of(text)) {
    const bool fits = column + 1 + word.size() <= width;
    if (column > 0) lines += fits ? " " : '\n' + std::string(margin, ' ');
    lines += word;
    column = (column > 0 && fits ? column + 1 : 0) + word.size();
  }
  return lines;
}

bool results_in_files = false;           // is there an --out, or an --output?

// What is printed stays in a buffer until the end: only then a full disk is known. Returns the exit
// status. A closed standard output, as a daemon's, is no fault of a program with results in files.
int end_of_output(const std::string& program, int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  const bool closed = (fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY;
  if (closed && results_in_files) return status;
  std::cerr << program << ": standard output cannot be written; is the disk full?\n";
  return status == 0 ? 1 : status;
}

[[noreturn]] void print_and_end(const std::string& program, const std::string& text) {
  results_in_files = false;
  std::cout << text;
  std::exit(end_of_output(program, 0));
}

// What is given, and beside it what it means.
std::string row(std::string left, const std::string& help) {
  left = "  " + left;
  if (left.size() < help_column)
    left.resize(help_column, ' ');
  else
    left += '\n' + std::string(help_column, ' ');
  return left + wrapped(help, help_width - help_column, help_column) + '\n';
}

void bind(CLI::App& app, const Option& option) {
  if (const auto flag = std::get_if<bool*>(&option.variable)) {
    app.add_flag(option.names, **flag);
    return;
  }
  const auto set = [&option, program = app.get_name()](const CLI::results_t& words) {
    MB_CHECK(option.is_words() || words.size() == 1, "{}: given {} times; once is enough",
             option.name(), words.size());
    const std::string text = joined(words, ",");
    if (const auto table = std::get_if<const NormTable*>(&option.valid); table && text == "help")
      print_and_end(program, (*table)->help());
    option.set(text);
    return true;
  };
  CLI::Option* const bound = app.add_option(option.names, set);
  if (option.is_words()) bound->expected(CLI::detail::expected_max_vector_size);
  bound->type_name(option.what())->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace

// What --help prints; not by CLI11, whose versions break and order lines each in its own way.
std::string CommandLine::help(bool all) const {
  const std::vector<std::string> shown = words_of(joined(examples_, " "));
  const bool in_short = !all && !examples_.empty() && options_.size() > many_options;
  std::string usage, positionals, section = "Options",
      rows = row("-h,--help", "Print this help message and exit") +
             row("--version", "Print what build this is and exit") +
             row("--help-all", "Print every option and exit");
  for (const Option& option : options_) {
    std::string value;
    if (!std::holds_alternative<bool*>(option.variable)) {
      value = " " + option.what();
      if (!option.text().empty() && !option.default_in_words()) value += "=" + option.text();
      if (option.is_words()) value += " ...";
    }
    if (!option.name().starts_with("-")) {
      usage += formatted(" [{}{}]", option.name(), option.is_words() ? "..." : "");
      positionals += row(option.name() + value, option.full_help());
    } else if (!in_short || std::ranges::find(shown, option.name()) != shown.end()) {
      if (option.section != section) rows += formatted("\n{}:\n", option.section);
      section = option.section;
      rows += row(option.names + value, option.full_help());
    }
  }
  return formatted("{}\nUsage: {} [OPTIONS]{}\n{}\nOptions:\n{}{}{}",
                   wrapped(description_, help_width), call_, usage,
                   positionals.empty() ? "" : "\nPositionals:\n" + positionals, rows, examples(),
                   in_short ? "\n--help-all prints every option.\n" : "");
}

// data/mini of an example is the one that came with the program.
std::string CommandLine::examples() const {
  if (examples_.empty()) return "";
  std::string text = formatted("\n{}\n\nExamples:\n", wrapped(writes_, help_width));
  const std::string mini = "data/mini", there = shell_word(shipped(mini));
  for (std::string example : examples_) {
    for (size_t at = 0; (at = example.find(mini, at)) != example.npos; at += there.size())
      example.replace(at, mini.size(), there);
    text += formatted("  {}{}{}\n", call_, example.empty() ? "" : " ", example);
  }
  return text;
}

void CommandLine::check_expected(const std::vector<std::string>& words) const {
  if (words.empty()) return;
  std::vector<std::string> names;
  for (const Option& option : options_)
    for (const std::string& name : split(option.names))
      if (name.starts_with("--")) names.push_back(name);
  const bool is_option = words[0].starts_with("-") && !names.empty();
  const std::string name = words[0].substr(0, words[0].find('='));
  fail("not expected: " + joined(words, " ") +
       (is_option ? "; the nearest is " + nearest(name, names) : ""));
}

void CommandLine::parse(int argc, char** argv, const std::string& without) {
  prepare_threads();                     // may start the program anew: before MPI knows of it
  const auto all = values();             // runs and studies alone share their work
  if (!all.contains("--shards") && !all.contains("--jobs")) stay_alone();
  ranks();                               // of several, only the first prints from here on
  call_ = std::getenv(front_variable) ? command_of(program_) : shell_word(argv[0]);
  CLI::App app("", call_);
  app.set_version_flag("--version", "");
  app.set_help_all_flag("--help-all");
  app.allow_extras();                    // what is not expected is named below, in its order
  for (const Option& option : options_) bind(app, option);
  const bool none = argc < 2 && !without.empty();
  std::vector<std::string> words(argv + 1, argv + argc);
  if (none) {
    words = words_of(without);
    for (std::string& word : words)
      if (word.starts_with("data/")) word = shipped(word);
    std::cerr << formatted("no options, so: {} {}   (--help lists them)\n", call_,
                           joined(words, " "));
  }
  command_ = call_;
  for (const std::string& word : words) command_ += " " + shell_word(word);
  try {
    std::ranges::reverse(words);         // CLI11 takes them from the end
    app.parse(std::move(words));
    std::vector<std::string> rest = app.remaining();
    std::erase(rest, "--");              // it ends the options
    check_expected(rest);
    check_outputs(*this);
  } catch (const CLI::CallForVersion&) {
    print_and_end(program_, about(program_) + "\n");
  } catch (const CLI::Success& asked) {  // --help or --help-all
    print_and_end(program_, help(asked.get_name() == "CallForAllHelp"));
  } catch (const std::exception& e) {    // CLI11's, or an Error of ours
    const std::string what = visible(
        formatted("{}: {}\n{} --help lists the options.", program_, e.what(), call_));
    if (ranks().size() > 1) ranks().end_all(what);
    std::cerr << what << '\n';
    std::exit(2);
  }
  for (const Option& option : options_) {
    if (app.count(option.name()) > 0) given_.insert(option.name());
    results_in_files |= option.name().starts_with("--out") && !option.text().empty();
  }
}

void CommandLine::need(const std::vector<std::string>& names) const {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (find(name).text().empty()) missing.push_back(name);
  MB_CHECK(missing.empty(), "{} must be given; see {} --help", joined(missing, " and "),
           command_of(program_));
}

int run_program(const std::string& program, const std::function<int()>& body) {
  std::string message = program + ": ";
  try {
    prepare_threads();                   // for a main() without a CommandLine; else it is done
    return end_of_output(program, body());
  } catch (const Interrupted&) {
    return 130;
  } catch (const std::bad_alloc&) {
    message += "out of memory; lower --batch or --max-length";
  } catch (const std::exception& e) {
    message += e.what();
  }
  message = visible(message);
  if (ranks().size() > 1) ranks().end_all(message);
  std::cerr << message << '\n';
  return 1;
}

}  // namespace minbert
