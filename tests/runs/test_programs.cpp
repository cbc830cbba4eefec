// The programs as a shell starts them: what their --help says, minbert that starts the others, and the way from
// training to the labels of a table.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <regex>
#include <set>

#include "error_of.h"
#include "golden_file.h"
#include "minbert/files.h"
#include "minbert/json.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {
namespace {

namespace fs = std::filesystem;

const std::string bin = repository("build/bin");

bool are_built() {
  const bool built = fs::exists(bin + "/minbert");
  if (!built) std::cout << "programs: not run (build/bin/minbert is not built; make programs)\n";
  return built;
}

std::set<std::string> programs() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(bin)) names.insert(entry.path().filename().string());
  names.erase("minbert");
  return names;
}

// Without the message that OpenBLAS's kernels were changed.
ShellResult says(const std::string& folder, const std::string& command) {
  ShellResult result = shell(folder, command);
  result.said = std::regex_replace(result.said, std::regex("OpenBLAS [^\n]*\n"), "");
  return result;
}

std::vector<std::string> lines_of(const std::string& text, const std::string& prefix) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(prefix)) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("programs: each --help says in a line what the program is, what it writes, and has an example") {
  if (!are_built()) return;
  for (const std::string& name : programs()) {
    const std::string program = bin + "/" + name;
    INFO(program);
    const ShellResult few = says("/", program + " --help"), all = says("/", program + " --help-all");
    for (const ShellResult& help : {few, all}) {
      CHECK(help.status == 0);
      CHECK(std::regex_search(help.said, std::regex("^[^\n]{1,99}\\.\nUsage: " + program)));
      CHECK(std::regex_search(help.said, std::regex("\n(Writes|Prints) ")));
      const auto examples = lines_of(help.said.substr(std::min(help.said.size(), help.said.find("\nExamples:\n"))),
                                     "  " + program);
      CHECK(!examples.empty());
      for (const std::string& example : examples) {
        const std::regex option("(--[a-z-]+)");
        for (std::sregex_iterator m(example.begin(), example.end(), option), end; m != end; ++m)
          CHECK_MESSAGE(std::regex_search(all.said, std::regex("\n  ([^ \n]*,)?" + m->str() + "[ ,\n]")), example);
      }
    }
    // A default that stands for something is said in words. Options begin with "  -".
    for (size_t begin = all.said.find("\n  -"); begin != all.said.npos;) {
      const size_t end = all.said.find("\n  -", begin + 1);
      const std::string option = all.said.substr(begin, end == all.said.npos ? end : end - begin);
      CHECK_MESSAGE(!std::regex_search(option, std::regex("[NX](=| \\[)-1\\b")), option);
      const bool is_zero = std::regex_search(option, std::regex("[NX](=| \\[)0(\\]|\\s)"));
      CHECK_MESSAGE(!(is_zero && contains(option, "0:")), option);
      begin = end;
    }
  }
}

TEST_CASE("programs: minbert lists its commands, starts them as they are, and names the nearest") {
  if (!are_built()) return;
  const std::string minbert = bin + "/minbert";
  const ShellResult help = says("/", minbert);
  CHECK(help.status == 0);
  CHECK(help.said == says("/", minbert + " --help").said);
  for (const std::string& name : programs())
    CHECK_MESSAGE(std::regex_search(help.said, std::regex("\n  " + name + " +[A-Z][^\n]*\\.\n")), name);
  const ShellResult unknown = says("/", minbert + " predicts");
  CHECK(unknown.status == 2);
  CHECK(unknown.said == "minbert: there is no command \"predicts\"; the nearest is predict\n" + minbert +
                            " --help lists the commands.\n");
  const ShellResult mistake = says("/", minbert + " predict --modle x");
  CHECK(mistake.status == 2);
  CHECK(mistake.said == "predict: not expected: --modle; the nearest is --model\n" + minbert +
                            " predict --help lists the options.\n");
  CHECK(says("/", minbert + " predict").said == "predict: --model must be given; see " + minbert + " predict --help\n");
  CHECK(says("/", bin + "/predict").said == "predict: --model must be given; see " + bin + "/predict --help\n");
  CHECK(says(bin, "PATH=.:$PATH minbert predict --help").has("\n  minbert predict --model runs/first"));
}

TEST_CASE("programs: a run says why it ended and what it kept, and the commands that it names work as pasted") {
  if (!are_built()) return;
  const SmallWorld world;
  const std::string folder = world.path("");
  const auto train = [&](const std::string& options) {
    const ShellResult result =
        says(folder, bin + "/multitask --model start --data data --batch 4 --max-length 16 " + options);
    INFO(result.said);
    CHECK(result.status == 0);
    return result.said;
  };
  const auto norm_of = [&](const std::string& run) {
    return Json::load(world.path(run + "/run.json"))["options"]["--norm"].string();
  };
  const std::string said = train("--tasks sst --lr 1e-12 --epochs 5 --patience 1 --out 'a run'");
  CHECK(contains(said, "\nstopped: no better score for 1 epoch; kept epoch 1, mean 0."));
  CHECK(norm_of("a run") == "layer");               // one task: a plain BERT
  CHECK(contains(read_file(world.path("a run/model/config.json")), "\"model_type\": \"bert\""));
  const auto commands = lines_of(said, "  " + bin + "/");
  REQUIRE(commands.size() == 2);
  const ShellResult labels = says(folder, commands[0]);
  CHECK(labels.status == 0);
  CHECK(labels.said.ends_with("\ta text\n"));
  CHECK(says(folder, commands[1]).status == 0);
  CHECK(fs::exists(world.path("a run-sst/model.safetensors")));

  const std::string several = train("--tasks quora,sts --lr 1e-3 --epochs 1 --out several");
  CHECK(contains(several, "\nended: all 1 epoch done; kept epoch 1, mean "));
  CHECK(norm_of("several") == "conditional-layer");
  for (const std::string& command : lines_of(several, "  " + bin + "/")) CHECK(says(folder, command).status == 0);
  // A model of several tasks keeps its norms, and with them its parameters of each task.
  const ShellResult on = says(folder, bin + "/multitask --model several --data data --tasks quora --max-length 16 "
                                      "--epochs 1 --out on");
  CHECK(on.status == 0);
  CHECK(norm_of("on") == "conditional-layer");
  train("--tasks sst --norm rms --epochs 1 --out rms");
  CHECK(norm_of("rms") == "rms");
  CHECK(lines_of(train("--tasks sst --norm rms --epochs 1 --out rms2"), "  " + bin + "/export").empty());

  // predict of a table says what it says of lines.
  write_file(world.path("new.csv"), "id,headline,second\n"
                                    "7,\"a good, fine film\",the plot\n8,bad,\"so \"\"dull\"\"\"\n");
  write_file(world.path("new.txt"), "a good, fine film\nbad\n");
  const std::string predict = bin + "/predict --model 'a run' ";
  const std::string of_pairs = bin + "/predict --model several --task quora ";
  const ShellResult table = says(folder, predict + "--input new.csv --column headline --output labels.tsv");
  CHECK(table.said == "2 texts -> labels.tsv\n");
  const std::string by_lines = says(folder, predict + "< new.txt").said;
  std::string expected;
  for (const std::string& line : lines_of(by_lines, "")) {    // the text is last there
    const size_t tab = line.rfind('\t');
    expected += (expected.empty() ? "headline" : line.substr(tab + 1)) + "\t" + line.substr(0, tab) + "\n";
  }
  CHECK(read_file(world.path("labels.tsv")) == expected);
  CHECK(says(folder, predict + "--input new.txt").said == by_lines);
  CHECK(says(folder, predict + "--input new.csv --column headline").said == expected);
  CHECK(says(folder, of_pairs + "--input new.csv --column headline,second --output pairs.csv").status == 0);
  const auto pairs = lines_of(read_file(world.path("pairs.csv")), "");
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[0] == "headline,second,prediction,different questions,same question");
  CHECK(pairs[1].starts_with("\"a good, fine film\",the plot,"));
  CHECK(pairs[2].starts_with("bad,\"so \"\"dull\"\"\","));
  const std::string scores = says(folder, bin + "/predict --model several --task sts --input new.csv "
                                                "--column headline,second").said;
  CHECK(scores.starts_with("headline\tsecond\tscore\na good, fine film\tthe plot\t"));
  CHECK(says(folder, predict + "--json --input new.csv --column headline --output o.jsonl").status == 0);
  CHECK(lines_of(read_file(world.path("o.jsonl")), "{\"label\":").size() == 2);

  const auto refused = [&](const std::string& options, const std::string& message) {
    const ShellResult result = says(folder, predict + options);
    INFO(result.said);
    CHECK(result.status == 1);
    CHECK(result.has("predict: " + message));
  };
  refused("new.csv", "new.csv is a file: give --input new.csv\n");
  refused("--input new.csv", "new.csv: which of its columns has the texts? Give --column");
  refused("--input new.csv --column headlines", "new.csv: there is no column \"headlines\"");
  refused("--input new.csv --column headline,second", "new.csv:2: sst takes one text");
  refused("--input gone.csv --column a", "--input gone.csv: cannot be read");
  refused("--column headline", "--input must be given; see ");
  refused("--input new.csv --column headline --output o.xlsx", "--output o.xlsx: the name must say what is written");
  refused("--input new.txt text", "--input new.txt: leave it out, or the text\n");
  CHECK(says(folder, bin + "/inside --model 'a run' --text new.txt").has("inside: new.txt is a file: give a text\n"));
  CHECK(says(folder, bin + "/encode --model start --input new.txt --output o.npy")
            .has("encode: --output o.npy: the name must say what is written, and end in .safetensors\n"));
  CHECK(says(folder, predict + "--task stt a").has("; the nearest is sst\n"));
}

}  // namespace minbert::test
