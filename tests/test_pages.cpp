// README pages that name things of the code: what they name is there.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>

#include "golden_file.h"
#include "minbert/files.h"

namespace minbert::test {

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
