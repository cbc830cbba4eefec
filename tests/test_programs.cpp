// Programs as they are started: what their main() alone does. make test builds them before the tests.
#include <doctest/doctest.h>

#include <iostream>

#include "error_of.h"
#include "golden_file.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {
namespace {

// The program's path in quotes, or "" where it is not built.
std::string program(const std::string& name) {
  const std::string file = std::filesystem::absolute(repository("build/bin/" + name)).string();
  if (std::filesystem::exists(file)) return "'" + file + "'";
  std::cout << name << ": not run (build/bin/" << name << " is not there)\n";
  return "";
}

}  // namespace

TEST_CASE("programs: predict takes an empty text, and one that begins with a hyphen, as a row") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 1;
  world.run(o, "run");
  const std::string predict = program("predict");
  if (predict.empty()) return;
  const auto rows = [&](const std::string& words, const std::string& task = "sst", const std::string& input = "") {
    const ShellResult result =
        shell(world.path(""), formatted("printf '{}' | {} --model run --threads 1 --task {} {}", input, predict, task,
                                        words));
    INFO(result.said);
    CHECK(result.status == 0);
    std::istringstream lines(result.said);
    std::vector<std::string> texts;                 // the last field of each row
    for (std::string line; std::getline(lines, line);) texts.push_back(line.substr(line.rfind('\t') + 1));
    return texts;
  };
  using Texts = std::vector<std::string>;
  CHECK(rows("''") == Texts{"text", ""});
  CHECK(rows("'a film'") == Texts{"text", "a film"});
  CHECK(rows("-- --json") == Texts{"text", "--json"});
  CHECK(rows("'' ''", "quora") == Texts{"second text", ""});
  CHECK(rows("a -- -1", "quora") == Texts{"second text", "-1"});
  CHECK(rows("") == Texts{"text"});
  CHECK(rows("", "sst", "\\n") == Texts{"text", ""});
  CHECK(rows("", "sst", "a\\rb") == Texts{"text", "a", "b"});
}

TEST_CASE("programs: encode says what it writes to, before it works") {
  SmallWorld world;
  const std::string encode = program("encode");
  if (encode.empty()) return;
  write_file(world.path("texts"), "a film\n");
  const ShellResult result =
      shell(world.path(""), formatted("{} --model gone --input texts --output /dev/stdout", encode));
  CHECK(result.said == "encode: /dev/stdout: cannot write: this is a pipe or a device; give the name of a file\n");
  CHECK(result.status == 1);
}

TEST_CASE("programs: a run with closed streams is whole; labels that nobody gets are an error") {
  SmallWorld world;
  const std::string multitask = program("multitask"), predict = program("predict");
  if (multitask.empty() || predict.empty()) return;
  const std::string run = formatted("{} --model start --data data --tasks sst --epochs 1 --threads 1", multitask);
  CHECK(shell(world.path(""), run + " --out open").status == 0);
  CHECK(shell(world.path(""), "(" + run + " --out closed <&- >&- 2>&-)").status == 0);
  CHECK(without_seconds(world.path("closed/steps.csv")) == without_seconds(world.path("open/steps.csv")));
  CHECK(std::filesystem::exists(world.path("closed/report.html")));
  CHECK(shell(world.path(""), "(" + predict + " --model open --threads 1 good >&-)").status == 1);
}

}  // namespace minbert::test
