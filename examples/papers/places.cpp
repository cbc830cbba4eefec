// Reading the list of the documents' items.
#include "papers/places.h"

#include <filesystem>
#include <regex>
#include <sstream>

#include "files/about.h"
#include "minbert/error.h"
#include "minbert/files.h"

namespace minbert {
namespace {

// "FILE:LINE NAME", where FILE defines it by the rule of .build/papers.
std::string definition(const std::string& file, const std::string& name) {
  const std::string source = shipped(file);
  if (!std::filesystem::exists(source)) return file + " " + name;
  const std::regex defined("^ *((class|struct) " + name + "([^A-Za-z0-9_;]|$)|[A-Za-z_][A-Za-z0-9_:<>,*& ]*[ *&:]" +
                           name + "\\()"),
      only_used("^ *(return|throw|else) |;$|;  *//");
  std::istringstream lines(read_file(source));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number)
    if (line.find(name) != line.npos &&
        (name[0] == '"' || (std::regex_search(line, defined) && !std::regex_search(line, only_used))))
      return formatted("{}:{} {}", file, number, name);
  return file + " " + name;
}

}  // namespace

Json places_of(const std::string& document, const std::string& item) {
  Json::Array code, tests;
  std::istringstream lines(read_file(shipped("data/papers/items.txt")));
  std::string line, of, here;                      // the document and the item of this line
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string first, word;
    words >> first;
    if (line.starts_with("== ")) words >> of;
    else if (!line.starts_with("  ")) here = first;
    if (of != document || here != item) continue;
    if (first == "test") tests.push_back(line.substr(line.find_first_not_of(' ', line.find("test") + 4)));
    if (first != "code") continue;
    words >> word;
    const std::string file = word.substr(0, word.size() - 1);
    while (words >> word) code.push_back(definition(file, word));
  }
  return Json::object({{"code", Json::array(code)}, {"test", Json::array(tests)}});
}

}  // namespace minbert
