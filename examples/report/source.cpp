// Finding and quoting definitions, by their indentation.
#include "report/source.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <sstream>
#include <vector>

#include "minbert/files.h"
#include "minbert/shipped.h"

namespace minbert {
namespace {

std::vector<std::string> lines_of_file(const std::string& file) {
  const std::string source = shipped(file);
  return std::filesystem::exists(source) ? lines_of(read_file(source)) : std::vector<std::string>();
}

bool is_identifier(const std::string& name) {
  return std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

int defining_line(const std::string& file, const std::string& name) {
  const std::vector<std::string> lines = lines_of_file(file);
  if (!is_identifier(name)) {
    const auto has_it = [&](const std::string& line) { return line.find(name) != line.npos; };
    const auto found = std::ranges::find_if(lines, has_it);
    return found == lines.end() ? 0 : int(found - lines.begin()) + 1;
  }
  const std::regex defined("^ *((class|struct) " + name + "([^A-Za-z0-9_;]|$)|[A-Za-z_][A-Za-z0-9_:<>,*& ]*[ *&:]" +
                           name + "\\()"),
      only_used("^ *(return|throw|else) |;$|;  *//");
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].find(name) != std::string::npos && std::regex_search(lines[i], defined) &&
        !std::regex_search(lines[i], only_used))
      return int(i) + 1;
  return 0;
}

Quote quote(const std::string& file, int line) {
  const std::vector<std::string> lines = lines_of_file(file);
  if (line < 1 || size_t(line) > lines.size()) return {};
  size_t first = size_t(line) - 1, last = first;
  const std::string indent(std::min(lines[first].find_first_not_of(' '), lines[first].size()), ' ');
  if (!lines[first].ends_with('}') && !lines[first].ends_with(';'))
    while (last + 1 < lines.size() && !lines[last].starts_with(indent + "}")) ++last;
  const auto belongs = [&](const std::string& above) {
    return above.starts_with(indent + "//") || above.starts_with(indent + "template");
  };
  while (first > 0 && belongs(lines[first - 1])) --first;
  Quote found{int(first) + 1, {}};
  for (size_t i = first; i <= last; ++i) found.text += lines[i].substr(std::min(indent.size(), lines[i].size())) + "\n";
  return found;
}

Quote quote_around(const std::string& file, int line) {
  const std::vector<std::string> lines = lines_of_file(file);
  const auto begins = [&](int number) {
    const std::string& text = lines[size_t(number) - 1];
    return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0]));
  };
  if (size_t(line) > lines.size()) return {};
  while (line > 1 && !begins(line)) --line;
  return quote(file, line);
}

Quote quote_function(const std::string& file, int line) {
  const std::vector<std::string> lines = lines_of_file(file);
  if (line < 1 || size_t(line) > lines.size()) return {};
  const auto indent = [&](int number) { return lines[size_t(number) - 1].find_first_not_of(' '); };
  const std::regex begins("^ *[A-Za-z_].*\\(.*\\{$"), is_no_function("^ *(for|if|while|switch|else)\\b");
  int first = line;
  while (first > 0 && !(indent(first) < indent(line) && std::regex_search(lines[size_t(first) - 1], begins) &&
                        !std::regex_search(lines[size_t(first) - 1], is_no_function)))
    --first;
  return quote(file, first);
}

}  // namespace minbert
