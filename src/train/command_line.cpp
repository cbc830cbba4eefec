// Command lines by CLI11: the only file that includes it.
#include "train/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
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

std::string text_of(double v) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10 - 2);
  out << v;
  return out.str();
}

std::string text_of(const std::string& s) { return s; }

template <class T>
T number(const std::string& name, const std::string& text, T least, T most) {
  size_t used = 0;
  double v = 0;
  try {
    v = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  const bool whole = std::is_same_v<T, int>;
  MB_CHECK(used > 0 && used == text.size() && std::isfinite(v) && (!whole || v == std::floor(v)),
           "{}: \"{}\" is not a {}", name, text, whole ? "whole number" : "number");
  MB_CHECK(v >= double(least), "{}: {} is too small; the least is {}", name, text, least);
  MB_CHECK(v <= double(most), "{}: {} is too large; the most is {}", name, text, most);
  return T(v);
}

std::string first_of(const std::string& names) { return names.substr(0, names.find(',')); }

using Read = std::function<std::string(const std::string&)>;         // what is given -> the option's value, or Error

Read one_of(const std::vector<std::string>& valid, const std::string& name,
            const std::map<std::string, std::string>& older = {}) {
  return [=](const std::string& s) {
    if (const auto now = older.find(s); now != older.end()) return now->second;
    MB_CHECK(std::ranges::find(valid, s) != valid.end(), "{}: there is no \"{}\"; valid are: {}", name, s,
             joined(valid));
    return s;
  };
}

// What is printed stays in a buffer until the end: only then a full disk is known. Returns the exit status.
int end_of_output(const std::string& program, int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  std::cerr << program << ": standard output cannot be written; is the disk full?\n";
  return status == 0 ? 1 : status;
}

// For "help" prints the table and ends the program.
Read norm_or_help(const NormTable& table, const std::string& program) {
  return [&table, program](const std::string& s) {
    if (s == "help") {
      std::cout << table.help();
      std::exit(end_of_output(program, 0));
    }
    table.check(s);
    return s;
  };
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

const std::string how_to_give_a_norm = "as NAME:option=value,option=value; help: a table";

}  // namespace

struct CommandLine::Impl {
  using Set = std::function<void(const std::string&)>;
  using Get = std::function<std::string()>;
  struct Entry {
    std::string name;                               // the first of its names
    CLI::Option* option;
    Set set;
    Get get;                                        // none for what is gone
  };
  CLI::App app;
  std::string group = "Options";
  std::vector<Entry> entries;

  Entry& find(const std::string& name) {
    for (Entry& e : entries)
      if (e.name == name || e.option->check_name(name)) return e;
    fail(formatted("the stored options have \"{}\", which this program does not know", name));
  }
  // "; did you mean --model?" for --modle, "" where no option is like it
  std::string suggestion(const std::string& word) const {
    const std::string name = word.substr(0, word.find('='));
    std::string nearest;
    size_t least = name.size() / 3 + 1;             // so many edits are too many
    for (const Entry& e : entries) {
      if (!e.get || !e.name.starts_with("--")) continue;
      const bool begins = name.starts_with(e.name) || (name.size() > 3 && e.name.starts_with(name));
      const size_t edits = begins ? 0 : edits_between(name, e.name);
      if (edits < least) least = edits, nearest = e.name;
    }
    return nearest.empty() ? "" : formatted("; did you mean {}?", nearest);
  }
  void refuse_rest() const {
    const std::vector<std::string> rest = app.remaining();
    const auto option = std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with("-"); });
    MB_CHECK(rest.empty(), "not expected: {}{}", joined(rest, " "),
             option == rest.end() ? "" : suggestion(*option));
  }
  // names: of one option, separated by commas; an Entry has the first.
  void add(const std::string& names, const Set& set, const Get& get, const std::string& help,
           const std::string& metavar) {
    CLI::Option* option = app.add_option_function<std::string>(names, set, help);
    entries.push_back({first_of(names), option->type_name(metavar)->default_str(get())->group(group), set, get});
  }
  void add_text(const std::string& name, std::string& value, const Read& read, const std::string& help,
                const std::string& metavar) {
    add(name, [&value, read](const std::string& s) { value = read(s); }, [&value] { return value; }, help, metavar);
  }
  template <class T>
  void add_number(const std::string& name, T& value, T least, T most, const std::string& help, const char* metavar) {
    add(name, [=, &value](const std::string& s) { value = number(name, s, least, most); },
        [&value] { return text_of(value); }, help, metavar);
  }
  // Error if there are no parts, or one is there twice. read: a part's value, or Error.
  template <class T, class Split, class Read>
  void add_list(const std::string& name, std::vector<T>& values, Split parts_of, Read read, const std::string& help) {
    const auto set = [=, &values](const std::string& s) {
      const std::vector<std::string> parts = parts_of(s);
      MB_CHECK(!parts.empty(), "{}: an empty list; give one or more, separated by commas", name);
      std::vector<T> list;
      for (auto part = parts.begin(); part != parts.end(); ++part) {
        MB_CHECK(std::find(parts.begin(), part, *part) == part, "{}: \"{}\" is there twice", name, *part);
        list.push_back(read(*part));
      }
      values = list;
    };
    const auto get = [&values] {
      std::vector<std::string> parts;
      for (const T& value : values) parts.push_back(text_of(value));
      return joined(parts, ",");
    };
    add(name, set, get, help, "LIST");
  }
};

CommandLine::CommandLine(std::string program, std::string description) : impl_(std::make_unique<Impl>()) {
  impl_->app.name(program)->description(description);
  impl_->app.get_formatter()->column_width(34);
  impl_->app.set_version_flag("--version", [program] { return about(program); }, "Print what build this is and exit");
  impl_->app.allow_extras();                        // which refuse_rest() names
}
CommandLine::~CommandLine() = default;

void CommandLine::section(const std::string& title) { impl_->group = title; }
void CommandLine::epilogue(const std::string& text) { impl_->app.footer(text); }

void CommandLine::option(const std::string& name, std::string& value, const std::string& help,
                         const std::string& metavar) {
  impl_->add_text(name, value, [](const std::string& s) { return s; }, help, metavar);
}
void CommandLine::option(const std::string& name, int& value, int least, const std::string& help, int most) {
  impl_->add_number(name, value, least, most, help, "N");
}
void CommandLine::option(const std::string& name, double& value, double least, const std::string& help,
                         double most) {
  impl_->add_number(name, value, least, most, help, "X");
}

// As text: a file a line.
void CommandLine::option(const std::string& name, std::vector<std::string>& files, const std::string& help) {
  CLI::Option* option = impl_->app.add_option(name, files, help)->type_name("FILE")->group(impl_->group);
  const auto set = [&files](const std::string& lines) {
    files.clear();
    std::istringstream in(lines);
    for (std::string file; std::getline(in, file);) files.push_back(file);
  };
  impl_->entries.push_back({name, option, set, [&files] { return joined(files, "\n") + (files.empty() ? "" : "\n"); }});
}

void CommandLine::choice(const std::string& names, std::string& value, const std::vector<std::string>& valid,
                         const std::string& help, const std::map<std::string, std::string>& older) {
  std::string also;
  for (const auto& [word, now] : older) also += (also.empty() ? "; older: " : ", ") + word + " = " + now;
  impl_->add_text(names, value, one_of(valid, first_of(names), older), help + ": " + joined(valid) + also, "NAME");
}
void CommandLine::option(const std::string& names, std::string& value,
                         const std::function<std::string(const std::string&)>& read, const std::string& help,
                         const std::string& metavar) {
  impl_->add_text(names, value, read, help, metavar);
}
void CommandLine::list(const std::string& name, std::vector<std::string>& values,
                       const std::vector<std::string>& valid, const std::string& help) {
  impl_->add_list(name, values, split, one_of(valid, name), help + ": " + joined(valid));
}
void CommandLine::list(const std::string& name, std::vector<double>& values, double least, const std::string& help) {
  const double most = std::numeric_limits<double>::max();
  impl_->add_list(name, values, split, [=](const std::string& s) { return number(name, s, least, most); }, help);
}

void CommandLine::norm(const std::string& name, std::string& value, const NormTable& table, const std::string& help) {
  const Read read = norm_or_help(table, impl_->app.get_name());
  impl_->add_text(name, value, read, help + ", " + how_to_give_a_norm, "NORM");
}
void CommandLine::norms(const std::string& name, std::vector<std::string>& values, const NormTable& table,
                        const std::string& help) {
  const Read read = norm_or_help(table, impl_->app.get_name());
  impl_->add_list(name, values, split_norms, read, help + ", each " + how_to_give_a_norm);
}

void CommandLine::gone(const std::string& name, const std::string& by_default, const std::string& now) {
  const auto set = [=](const std::string& s) {
    MB_CHECK(s == by_default, "{} is no option any more; give {}", name, now);
  };
  CLI::Option* option = impl_->app.add_option_function<std::string>(name, set)->group("");          // not in --help
  impl_->entries.push_back({name, option, set, nullptr});
}

void CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  CLI::Option* option = impl_->app.add_flag(name, value, help)->group(impl_->group);
  impl_->entries.push_back({name, option, [&value](const std::string& s) { value = s == "yes"; },
                            [&value] { return std::string(value ? "yes" : "no"); }});
}

void CommandLine::parse(int argc, char** argv, const std::string& without) {
  CLI::App& app = impl_->app;
  prepare_threads();                                // may start the program anew: before MPI knows of it
  ranks();                                          // of several, only the first prints from here on
  const bool none = argc < 2 && !without.empty();
  std::vector<std::string> words;
  if (none) {
    std::istringstream in(without);
    for (std::string word; in >> word;) words.push_back(word.starts_with("data/") ? shipped(word) : word);
    std::cerr << formatted("no options, so: {} {}   (--help lists them)\n", app.get_name(), joined(words, " "));
    std::ranges::reverse(words);                    // as CLI wants them
  }
  try {
    if (none) app.parse(words);
    else app.parse(argc, argv);
    impl_->refuse_rest();
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    std::exit(end_of_output(app.get_name(), 0));
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
    std::exit(end_of_output(app.get_name(), 0));
  } catch (const std::exception& e) {               // CLI's, or an Error of ours
    std::string what = e.what();
    for (const Impl::Entry& entry : impl_->entries)
      if (const size_t times = entry.option->count(); times > 1 && entry.option->get_expected_max() == 1)
        what = formatted("{}: given {} times; once is enough", entry.name, times);
    what = app.get_name() + ": " + what + "\nRun with --help to see every option.";
    if (ranks().size() > 1) ranks().end_all(what);
    std::cerr << what << '\n';
    std::exit(2);
  }
}

void CommandLine::need(const std::vector<std::string>& names) const {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (value(name).empty()) missing.push_back(name);
  if (!missing.empty()) throw UsageError(joined(missing, " and ") + " must be given; see --help");
}

bool CommandLine::given(const std::string& name) const { return impl_->find(name).option->count() > 0; }

std::string CommandLine::value(const std::string& name) const { return impl_->find(name).get(); }

std::map<std::string, std::string> CommandLine::values() const {
  std::map<std::string, std::string> all;
  for (const Impl::Entry& e : impl_->entries)
    if (e.get) all[e.name] = e.get();
  return all;
}

void CommandLine::set(const std::string& name, const std::string& text) { impl_->find(name).set(text); }

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
