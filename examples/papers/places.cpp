// Reading the list of the documents' items.
#include "papers/places.h"

#include <sstream>

#include "files/about.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "report/source.h"

namespace minbert {
namespace {

// "FILE:LINE NAME"
std::string definition(const std::string& file, const std::string& name) {
  const int line = defining_line(file, name);
  return line ? formatted("{}:{} {}", file, line, name) : file + " " + name;
}

}  // namespace

Json places_of(const std::string& document, const std::string& item) {
  Json::Array code, tests;
  std::istringstream lines(read_file(shipped("data/papers/items.txt")));
  std::string line, tag, name;                     // of the document and the item that this line is about
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string first, word;
    words >> first;
    if (line.starts_with("== ")) words >> tag;
    else if (!line.starts_with("  ")) name = first;
    if (tag != document || name != item) continue;
    if (first == "test") tests.push_back(line.substr(line.find_first_not_of(' ', line.find("test") + 4)));
    if (first != "code") continue;
    words >> word;
    const std::string file = word.substr(0, word.size() - 1);
    while (words >> word) code.push_back(definition(file, word));
  }
  return Json::object({{"code", Json::array(code)}, {"test", Json::array(tests)}});
}

}  // namespace minbert
