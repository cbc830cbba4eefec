// Command lines by CLI11: the only file that includes it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>

#include "minbert/error.h"
#include "minbert/names.h"
#include "minbert/options.h"

namespace minbert {
namespace {

std::string text_of(double v) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10 - 2);
  out << v;
  return out.str();
}

// Error if there are none, or one is there twice.
std::vector<std::string> checked(const std::string& name, const std::vector<std::string>& parts) {
  MB_CHECK(!parts.empty(), "{}: an empty list; give one or more, separated by commas", name);
  for (auto part = parts.begin(); part != parts.end(); ++part)
    MB_CHECK(std::find(parts.begin(), part, *part) == part, "{}: \"{}\" is there twice", name, *part);
  return parts;
}

void print_table_if_asked(const std::string& s, const std::string& table) {
  if (s != "help" || table.empty()) return;
  std::cout << table;
  std::exit(0);
}

void check_choice(const std::string& name, const std::string& s, const std::vector<std::string>& valid,
                  const std::string& table) {
  print_table_if_asked(s, table);
  MB_CHECK(std::find(valid.begin(), valid.end(), s) != valid.end(), "{}: there is no \"{}\"; valid are: {}", name, s,
           joined(valid));
}

std::string choices(const std::vector<std::string>& valid, const std::string& table) {
  return ": " + joined(valid) + (table.empty() ? "" : "; or help: a table of them");
}

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

}  // namespace

struct CommandLine::Impl {
  struct Entry {
    std::string name;                               // the first of its names
    std::vector<CLI::Option*> options;              // itself and its aliases
    std::function<void(const std::string&)> set;
    std::function<std::string()> get;
  };
  Impl(const std::string& program, const std::string& description) : app(description, program) {
    app.get_formatter()->column_width(34);
  }
  CLI::App app;
  std::string group = "Options", closing;
  std::vector<Entry> entries;
  std::map<std::string, std::function<void(const std::string&)>> gone;

  Entry& find(const std::string& name) {
    for (Entry& e : entries)
      if (e.name == name) return e;
    fail(format("the stored options have \"{}\", which this program does not know", name));
  }
  CLI::Option* add(const std::string& names, std::function<void(const std::string&)> set,
                   std::function<std::string()> get, const std::string& help, const std::string& metavar) {
    CLI::Option* option = app.add_option_function<std::string>(names, set, help);
    option->type_name(metavar)->default_str(get())->group(group);
    entries.push_back({names.substr(0, names.find(',')), {option}, set, get});
    return option;
  }
};

CommandLine::CommandLine(std::string program, std::string description)
    : impl_(std::make_unique<Impl>(program, description)) {}
CommandLine::~CommandLine() = default;

void CommandLine::section(const std::string& title) { impl_->group = title; }
void CommandLine::epilogue(const std::string& text) { impl_->closing = text; }

void CommandLine::option(const std::string& names, std::string& value, const std::string& help,
                         const std::string& metavar) {
  impl_->add(names, [&value](const std::string& s) { value = s; }, [&value] { return value; }, help,
             metavar.empty() ? "TEXT" : metavar);
}
void CommandLine::option(const std::string& names, int& value, int least, const std::string& help, int most) {
  impl_->add(names, [=, &value](const std::string& s) { value = number(names, s, least, most); },
             [&value] { return std::to_string(value); }, help, "N");
}
void CommandLine::option(const std::string& names, double& value, double least, const std::string& help,
                         double most) {
  impl_->add(names, [=, &value](const std::string& s) { value = number(names, s, least, most); },
             [&value] { return text_of(value); }, help, "X");
}
void CommandLine::option(const std::string& names, std::optional<double>& value, double least, const std::string& help,
                         double most) {
  impl_->add(names, [=, &value](const std::string& s) { value = number(names, s, least, most); },
             [&value] { return value ? text_of(*value) : ""; }, help, "X");
}
void CommandLine::option(const std::string& names, std::vector<std::string>& files, const std::string& help) {
  CLI::Option* option = impl_->app.add_option(names, files, help)->type_name("FILE")->group(impl_->group);
  const auto set = [&files](const std::string& lines) {        // one a line
    files.clear();
    std::istringstream in(lines);
    for (std::string file; std::getline(in, file);) files.push_back(file);
  };
  const auto get = [&files] {
    std::string lines;
    for (const std::string& file : files) lines += file + "\n";
    return lines;
  };
  impl_->entries.push_back({names.substr(0, names.find(',')), {option}, set, get});
}

void CommandLine::choice(const std::string& names, std::string& value, std::vector<std::string> valid,
                         const std::string& help, const std::string& table) {
  const auto set = [&value, names, valid, table](const std::string& s) {
    check_choice(names, s, valid, table);
    value = s;
  };
  impl_->add(names, set, [&value] { return value; }, help + choices(valid, table), "NAME");
}

void CommandLine::list(const std::string& names, std::vector<std::string>& values, std::vector<std::string> valid,
                       const std::string& help, const std::string& table) {
  const auto set = [&values, names, valid, table](const std::string& s) {
    const std::vector<std::string> list = checked(names, split(s));
    for (const std::string& part : list) check_choice(names, part, valid, table);
    values = list;
  };
  impl_->add(names, set, [&values] { return joined(values, ","); }, help + choices(valid, table), "LIST");
}
void CommandLine::list(const std::string& names, std::vector<double>& values, double least, const std::string& help) {
  const auto set = [&values, names, least](const std::string& s) {
    std::vector<double> list;
    for (const std::string& part : checked(names, split(s)))
      list.push_back(number(names, part, least, std::numeric_limits<double>::max()));
    values = list;
  };
  const auto get = [&values] {
    std::vector<std::string> list;
    for (const double v : values) list.push_back(text_of(v));
    return joined(list, ",");
  };
  impl_->add(names, set, get, help, "LIST");
}

void CommandLine::norm(const std::string& names, std::string& value, const NormTable& table,
                       const std::string& help) {
  const auto set = [&value, &table](const std::string& s) {
    print_table_if_asked(s, table.help());
    table.check(s);
    value = s;
  };
  impl_->add(names, set, [&value] { return value; }, help + ", as NAME:option=value,option=value; help: a table",
             "NORM");
}
void CommandLine::norms(const std::string& names, std::vector<std::string>& values, const NormTable& table,
                        const std::string& help) {
  const auto set = [&values, names, &table](const std::string& s) {
    print_table_if_asked(s, table.help());
    const std::vector<std::string> list = checked(names, split_norms(s));
    for (const std::string& part : list) table.check(part);
    values = list;
  };
  impl_->add(names, set, [&values] { return joined(values, ","); },
             help + ", each as NAME:option=value,option=value; help: a table", "LIST");
}

void CommandLine::gone(const std::string& name, const std::string& by_default, const std::string& now) {
  const auto set = [name, now](const std::string&) { fail(format("{} is no option any more; give {}", name, now)); };
  impl_->app.add_option_function<std::string>(name, set)->group("");          // not in --help
  impl_->gone[name] = [set, by_default](const std::string& s) {
    if (s != by_default) set(s);
  };
}

void CommandLine::flag(const std::string& names, bool& value, const std::string& help) {
  CLI::Option* option = impl_->app.add_flag(names, value, help)->group(impl_->group);
  impl_->entries.push_back({names.substr(0, names.find(',')), {option},
                            [&value](const std::string& s) { value = s == "yes"; },
                            [&value] { return std::string(value ? "yes" : "no"); }});
}

void CommandLine::alias(const std::string& name, const std::string& of,
                        std::map<std::string, std::string> values, const std::string& help) {
  std::vector<std::string> valid;
  for (const auto& [older, now] : values) valid.push_back(older);
  const auto set = [this, name, of, values, valid](const std::string& s) {
    check_choice(name, s, valid, "");
    this->set(of, values.at(s));
  };
  CLI::Option* option = impl_->app.add_option_function<std::string>(name, set, help + choices(valid, ""));
  impl_->find(of).options.push_back(option->type_name("NAME")->group(impl_->group));
}

void CommandLine::parse(int argc, char** argv, const std::string& without) {
  const bool none = argc < 2 && !without.empty();
  if (none) std::cerr << format("no options, so: {} {}   (--help lists them)\n", impl_->app.get_name(), without);
  try {
    if (!impl_->closing.empty()) impl_->app.footer(impl_->closing);
    if (none) impl_->app.parse(without);
    else impl_->app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << impl_->app.help();
    std::exit(0);
  } catch (const std::exception& e) {               // CLI's, or an Error of ours
    std::string what = e.what();
    for (const Impl::Entry& entry : impl_->entries)
      if (const size_t times = entry.options[0]->count(); times > 1 && entry.options[0]->get_expected_max() == 1)
        what = format("{}: given {} times; once is enough", entry.name, times);
    std::cerr << impl_->app.get_name() << ": " << what << "\nRun with --help to see every option.\n";
    std::exit(2);
  }
}

bool CommandLine::given(const std::string& name) const {
  const std::vector<CLI::Option*>& options = impl_->find(name).options;
  return std::any_of(options.begin(), options.end(), [](const CLI::Option* o) { return o->count() > 0; });
}

std::map<std::string, std::string> CommandLine::values() const {
  std::map<std::string, std::string> all;
  for (const Impl::Entry& e : impl_->entries) all[e.name] = e.get();
  return all;
}
void CommandLine::set(const std::string& name, const std::string& text) {
  const auto older = impl_->gone.find(name);
  if (older != impl_->gone.end()) older->second(text);
  else impl_->find(name).set(text);
}

int run_program(const std::string& program, const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    std::cerr << program << ": out of memory; lower --batch or --max-length\n";
  } catch (const std::exception& e) {
    std::cerr << program << ": " << e.what() << '\n';
  }
  return 1;
}

}  // namespace minbert
