// .build/papers: the list of the documents' items against the sources.
#include <doctest/doctest.h>

#include <regex>
#include <sstream>

#include "error_of.h"
#include "files/about.h"
#include "golden_file.h"
#include "papers/places.h"
#include "report/html.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {

TEST_CASE("papers: what the list names and the sources lack is an error that says where and what to do") {
  const SmallWorld world;
  const std::string list = world.path("papers.txt");
  const auto papers = [&](const std::string& text) {
    write_file(list, text);
    const ShellResult result = shell(repository(), formatted(".build/papers '{}'", list));
    CHECK(result.status == 1);                      // the sources' tags are on none of these lists
    return result.said;
  };
  const std::string good =
      "== CLN | A document\n"
      "eq.4 | conditional\n"
      "  code     src/ops/loss.cpp: cross_entropy CrossEntropy\n"
      "  code     src/tasks/task.cpp: \"phrasebank\"\n"
      "  test     papers: what the list names and the sources lack\n"
      "  command  multitask --model data/mini/bert --epochs 1\n"
      "  command  data/download.sh phrasebank --into data\n";
  const std::string said = papers(good);
  CHECK(contains(said, "[CLN loop]"));                 // a tag of the sources
  CHECK(contains(said, "[IsoBN eq.9]"));
  CHECK(contains(said, "papers: 1 items\n"));
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"  code     src/ops/lost.cpp: cross_entropy", "8: src/ops/lost.cpp defines no class"},
      {"  code     src/ops/loss.cpp: exp", "8: src/ops/loss.cpp defines no class, struct or function exp"},
      {"  code     src/tasks/task.cpp: \"phrase\"", "8: src/tasks/task.cpp defines no class"},
      {"  test     papers: a test that nobody wrote", "8: 0 test cases have \"papers: a test that nobody wrote\""},
      {"  test     papers: the", " test cases have \"papers: the\" in their names"},
      {"  command  multitasks --seeds 3", "8: there is no program multitasks"},
      {"  command  multitask --seedz 3", "8: multitask has no option --seedz"},
      {"  comand   multitask", "8: expected ITEM | TITLE"},
      {"  command  make tests", "8: the Makefile has no target tests"},
      {"eq.1 | a title", "[CLN eq.1] above has no code, no test or no command"},
      {"eq.4 | a title", "8: [CLN eq.4] is on the list twice"}};
  for (const auto& [line, message] : wrong) {
    INFO(line);
    CHECK_FALSE(contains(said, message));
    CHECK(contains(papers(good + line + "\n"), message));
  }
}

TEST_CASE("papers: a report finds the lines and the tests of an item, and of every equation that it shows") {
  const Json gains = places_of("IsoBN", "eq.6");
  REQUIRE(gains["code"].items().size() == 1);
  const std::string code = gains["code"].items()[0].string();
  std::smatch place;
  REQUIRE(std::regex_match(code, place, std::regex("src/norm/cls/iso_bn.cpp:([0-9]+) theta_bar")));
  std::istringstream lines(read_file(repository() + "/src/norm/cls/iso_bn.cpp"));
  std::string line;
  for (int i = 0; i < std::stoi(place[1]); ++i) std::getline(lines, line);
  CHECK(contains(line, "theta_bar("));
  CHECK(gains["test"].items()[0].string() == "cls norm: IsoBN's presets equal the paper's recurrences as plain loops");
  CHECK(contains(places_of("NT", "data")["code"].dump(), ":"));
  CHECK(places_of("TA", "eq.6")["code"].items().empty());     // IsoBN's alone

  for (const char* name : {"cln", "isobn", "lnpeft", "task-adaptation", "transformer-norms"}) {
    CAPTURE(name);
    const Json paper = Json::load(shipped(formatted("data/papers/{}.json", name)));
    const std::string tag = paper["document"]["tag"].string();
    CHECK(!paper["document"]["says"].string().empty());
    const auto known = [&](const Json& references) {
      for (const Json& r : references.items()) {
        CAPTURE(r.string());
        REQUIRE(paper["equations"].has(r.string()));
        CHECK(!places_of(tag, r.string())["code"].items().empty());
        const std::string math = formula(paper["equations"][r.string()].string());
        CHECK(!contains(math, "&lt;"));               // all of it is markup
      }
    };
    known(paper["document"]["equations"]);
    for (const auto& [item, references] : paper["shows"].members()) known(references);
  }
}

}  // namespace minbert::test
