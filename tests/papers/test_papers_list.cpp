// .build/papers: the list of the documents' items against the sources.
#include <doctest/doctest.h>

#include "error_of.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {

TEST_CASE("papers: what the list names and the sources lack is an error that says where and what to do") {
  const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  const SmallWorld world;
  const std::string list = world.path("papers.txt");
  const auto papers = [&](const std::string& text) {
    write_file(list, text);
    const ShellResult result = shell(root.string(), formatted(".build/papers '{}'", list));
    CHECK(result.status == 1);                      // the sources' tags are on none of these lists
    return result.said;
  };
  const std::string good =
      "== CLN | A document\n"
      "eq.4 | done | conditional\n"
      "  code     src/ops/loss.cpp: cross_entropy CrossEntropy\n"
      "  code     src/tasks/task.cpp: \"phrasebank\"\n"
      "  test     papers: what the list names and the sources lack\n"
      "  command  multitask --model data/mini/bert --epochs 1\n"
      "  command  data/download.sh phrasebank --into data\n"
      "fig.1 | waits: a program | a figure\n";
  const std::string said = papers(good), own = list + ":";
  CHECK_FALSE(contains(said, own));
  CHECK(contains(said, "[CLN loop]: it is not on the list"));
  CHECK(contains(said, "[IsoBN eq.9]: it is not on the list"));
  CHECK(contains(said, "command  multitask --model data/mini/bert --epochs 1\n"));
  CHECK(contains(said, "papers: 2 items: 1 done, 1 wait for a program\n"));

  const auto complaint = [&](const std::string& line, const std::string& message) {
    INFO(line);
    CHECK(contains(papers(good + line + "\n"), own + message));
  };
  complaint("  code     src/ops/lost.cpp: cross_entropy", "9: there is no file src/ops/lost.cpp; name the one");
  complaint("  code     src/ops/loss.cpp", "9: expected FILE: NAME ..., what FILE defines");
  for (const std::string name : {"crossentropy", "exp", "launch_rows"})          // the last two are only called there
    complaint("  code     src/ops/loss.cpp: " + name,
              "9: src/ops/loss.cpp defines no class, struct or function " + name + "; name what");
  complaint("  code     src/tasks/task.cpp: \"phrase\"", "9: src/tasks/task.cpp defines no class");
  complaint("  test     papers: a test that nobody wrote", "9: no test case has \"papers: a test that nobody wrote\"");
  CHECK(contains(papers(good + "  test     papers: \n"), " test cases have \"papers:\" in their names; write more"));
  complaint("  command  multitasks --seeds 3", "9: there is no program multitasks: no examples/multitasks.cpp");
  complaint("  command  multitask --seedz 3", "9: multitask has no option --seedz; see its --help");
  complaint("  comand   multitask", "9: expected code, test or command, and what it is");
  complaint("eq.1 | done | a title", "9: [CLN eq.1] is done, but names no code; name it, or let it wait");
  complaint("eq.4 | waits: a program | a title", "9: [CLN eq.4] is on the list twice");
  complaint("eq.1 | perhaps | a title", "9: expected ITEM | done or waits: NAME | TITLE");
}

}  // namespace minbert::test
