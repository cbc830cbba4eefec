// Pages that name things of the code, files and each other: what they name is there.
#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "golden_file.h"
#include "minbert/files.h"

namespace minbert::test {
namespace {

// All pages, from the root.
std::vector<std::string> pages() {
  std::vector<std::string> list;
  const auto add = [&](const std::filesystem::path& file) {
    if (file.extension() == ".md")
      list.push_back(std::filesystem::relative(file, repository("")).generic_string());
  };
  for (const auto& entry : std::filesystem::directory_iterator(repository(""))) add(entry.path());
  for (const char* folder : {"src", "examples", "tests", "data"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(repository(folder))) add(entry.path());
  return list;
}

// A page without its blocks of code.
std::string prose(const std::string& page) {
  std::istringstream lines(read_file(repository(page)));
  std::string text;
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) code = !code;
    else if (!code) text += line + "\n";
  }
  return text;
}

// What a link to a heading is called: "## A reading order" is a-reading-order.
std::set<std::string> headings(const std::string& page) {
  std::set<std::string> names;
  std::istringstream lines(prose(page));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#")) continue;
    std::string name;
    for (const char c : line.substr(line.find(' ') + 1)) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == ' ') name += '-';
      else if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 128) name += char(std::tolower(byte));
    }
    names.insert(name);
  }
  return names;
}

std::vector<std::string> all_matches(const std::string& text, const std::regex& form) {
  std::vector<std::string> list;
  for (std::sregex_iterator m(text.begin(), text.end(), form), end; m != end; ++m) list.push_back((*m)[1]);
  return list;
}

}  // namespace

TEST_CASE("pages: a link leads to a file that is there, and to one of its headings") {
  int links = 0;
  for (const std::string& page : pages()) {
    const std::filesystem::path folder = std::filesystem::path(page).parent_path();
    for (const std::string& link : all_matches(prose(page), std::regex(R"(\]\(([^)\s]+)\))"))) {
      if (link.starts_with("http")) continue;
      const size_t hash = std::min(link.find('#'), link.size());
      const std::string file =
          hash == 0 ? page : (folder / link.substr(0, hash)).lexically_normal().generic_string();
      INFO(page << ": " << link);
      CHECK(std::filesystem::exists(repository(file)));
      if (hash < link.size()) CHECK(headings(file).contains(link.substr(hash + 1)));
      ++links;
    }
  }
  CHECK(links > 50);
}

TEST_CASE("pages: the reading order's files and headers are there") {
  const std::string text = prose("src/README.md");
  const size_t begin = text.find("## A reading order"), end = text.find("\n## ", begin + 1);
  const std::regex name(R"(`([\w/]+\.(?:h|cpp|py))`)");
  int files = 0;
  for (const std::string& file : all_matches(text.substr(begin, end - begin), name)) {
    INFO(file);
    const bool found = std::filesystem::exists(repository("include/minbert/" + file)) ||
                       std::filesystem::exists(repository("src/" + file)) ||
                       std::filesystem::exists(repository("examples/" + file)) ||
                       std::filesystem::exists(repository(file));
    CHECK(found);
    ++files;
  }
  CHECK(files > 50);
}

TEST_CASE("pages: minbert's names beside PyTorch's are those of the public headers") {
  std::string headers;
  for (const auto& entry : std::filesystem::directory_iterator(repository("include/minbert")))
    headers += read_file(entry.path().string());
  const std::string page = read_file(repository("src/README.md"));
  const std::regex row(R"(\n\| (`[^|]*) \|)"), name(R"(`(\w+)(\(\))?`)");
  int names = 0;
  for (std::sregex_iterator r(page.begin(), page.end(), row), end; r != end; ++r) {
    const std::string cell = (*r)[1];
    for (std::sregex_iterator n(cell.begin(), cell.end(), name); n != end; ++n, ++names) {
      const std::string word = (*n)[1];
      INFO(word << " is in no header of include/minbert; mend the row in src/README.md");
      CHECK(std::regex_search(headers, std::regex("\\b" + word + "\\b")));
    }
  }
  CHECK(names > 30);
}

}  // namespace minbert::test
