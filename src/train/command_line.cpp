// Command lines by CLI11: the only file that includes it.
#include "train/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <sstream>

#include "engine/names.h"
#include "engine/process.h"
#include "engine/ranks.h"
#include "files/about.h"
#include "train/interrupt.h"

namespace minbert {
namespace {

constexpr size_t help_width = 100, help_column = 34;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// In lines of `width` characters at most.
std::string wrapped(const std::string& text, size_t width) {
  std::string lines;
  size_t column = 0;
  for (const std::string& word : words_of(text)) {
    const bool fits = column + 1 + word.size() <= width;
    if (column > 0) lines += fits ? ' ' : '\n';
    lines += word;
    column = (column > 0 && fits ? column + 1 : 0) + word.size();
  }
  return lines;
}

// What is printed stays in a buffer until the end: only then a full disk is known. Returns the exit
// status.
int end_of_output(const std::string& program, int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  std::cerr << program << ": standard output cannot be written; is the disk full?\n";
  return status == 0 ? 1 : status;
}

[[noreturn]] void print_and_end(const std::string& program, const std::string& text) {
  std::cout << text;
  std::exit(end_of_output(program, 0));
}

// The fewest letters to put in, take out or replace that make one word of the other.
size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);            // [j]: from the letters of a so far to b's first j
  std::iota(row.begin(), row.end(), size_t(0));
  for (const char letter : a) {
    size_t diagonal = std::exchange(row[0], row[0] + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (letter != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

// "; did you mean --model?" for --modle, "" where no option is like it
std::string suggestion(const std::string& word, const std::vector<Option>& options) {
  const std::string typed = word.substr(0, word.find('='));
  std::string nearest;
  size_t least = typed.size() / 3 + 1;              // so many edits are too many
  for (const Option& option : options) {
    const std::string name = option.name();
    if (!name.starts_with("--")) continue;
    const bool begins = typed.starts_with(name) || (typed.size() > 3 && name.starts_with(typed));
    const size_t edits = begins ? 0 : edits_between(typed, name);
    if (edits < least) least = edits, nearest = name;
  }
  return nearest.empty() ? "" : formatted("; did you mean {}?", nearest);
}

CLI::Option* bind(CLI::App& app, const Option& option) {
  const std::string help = wrapped(option.full_help(), help_width - help_column);
  if (const auto flag = std::get_if<bool*>(&option.variable))
    return app.add_flag(option.names, **flag, help)->group(option.section);
  const auto set = [&option, program = app.get_name()](const CLI::results_t& words) {
    const std::string text = joined(words, "\n");
    if (const auto table = std::get_if<const NormTable*>(&option.valid); table && text == "help")
      print_and_end(program, (*table)->help());
    option.set(text);
    return true;
  };
  CLI::Option* bound = app.add_option(option.names, set, help)->group(option.section);
  if (option.is_words()) bound->expected(CLI::detail::expected_max_vector_size);
  return bound->type_name(option.what())->default_str(option.text());
}

}  // namespace

void CommandLine::parse(int argc, char** argv, const std::string& without) {
  prepare_threads();                     // may start the program anew: before MPI knows of it
  ranks();                               // of several, only the first prints from here on
  CLI::App app(wrapped(description_, help_width), program_);
  app.get_formatter()->column_width(help_column);
  const auto version = [this] { return about(program_); };
  app.set_version_flag("--version", version, "Print what build this is and exit");
  app.allow_extras();                    // what is not expected is named below
  if (!examples_.empty()) app.set_help_all_flag("--help-all", "Print every option and exit");
  std::vector<std::pair<const Option*, CLI::Option*>> bound;
  for (const Option& option : options_) bound.emplace_back(&option, bind(app, option));
  const bool none = argc < 2 && !without.empty();
  std::vector<std::string> words(argv + 1, argv + argc);
  if (none) {
    words = words_of(without);
    for (std::string& word : words)
      if (word.starts_with("data/")) word = shipped(word);
    std::cerr << formatted("no options, so: {} {}   (--help lists them)\n", program_,
                           joined(words, " "));
  }
  try {
    std::ranges::reverse(words);         // CLI11 takes them from the end
    app.parse(std::move(words));
    const std::vector<std::string> rest = app.remaining();
    const auto unknown =
        std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with("-"); });
    MB_CHECK(rest.empty(), "not expected: {}{}", joined(rest, " "),
             unknown == rest.end() ? "" : suggestion(*unknown, options_));
  } catch (const CLI::CallForAllHelp&) {
    app.footer("Examples:\n" + examples_);
    print_and_end(program_, app.help());
  } catch (const CLI::CallForHelp&) {
    if (const std::vector<std::string> shown = words_of(examples_); !shown.empty()) {
      app.footer("Examples:\n" + examples_ + "\n--help-all prints every option.");
      for (const auto& [option, entry] : bound)
        if (option->name().starts_with("-") &&
            std::ranges::find(shown, option->name()) == shown.end())
          entry->group("");              // it is not printed
    }
    print_and_end(program_, app.help());
  } catch (const CLI::CallForVersion& said) {
    print_and_end(program_, said.what() + std::string("\n"));
  } catch (const std::exception& e) {    // CLI11's, or an Error of ours
    std::string what = e.what();
    for (const auto& [option, entry] : bound)
      if (const size_t times = entry->count(); times > 1 && entry->get_expected_max() == 1)
        what = formatted("{}: given {} times; once is enough", option->name(), times);
    what = program_ + ": " + what + "\nRun with --help to see the options.";
    if (ranks().size() > 1) ranks().end_all(what);
    std::cerr << what << '\n';
    std::exit(2);
  }
  for (const auto& [option, entry] : bound)
    if (entry->count() > 0) given_.insert(option->name());
}

void CommandLine::need(const std::vector<std::string>& names) const {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (find(name).text().empty()) missing.push_back(name);
  if (!missing.empty()) throw UsageError(joined(missing, " and ") + " must be given; see --help");
}

int run_program(const std::string& program, const std::function<int()>& body) {
  std::string message = program + ": ";
  int status = 1;
  try {
    prepare_threads();                              // for a main() without a CommandLine; else it is done
    return end_of_output(program, body());
  } catch (const Interrupted&) {
    return 130;
  } catch (const std::bad_alloc&) {
    message += "out of memory; lower --batch or --max-length";
  } catch (const std::filesystem::filesystem_error& e) {
    message += e.path1().string() + ": " + e.code().message();
  } catch (const UsageError& e) {
    message += e.what();
    status = 2;
  } catch (const std::exception& e) {
    message += e.what();
  }
  if (ranks().size() > 1) ranks().end_all(message);
  std::cerr << message << '\n';
  return status;
}

}  // namespace minbert
