// What a run leaves behind it, for people and programs: run.json, report.html, yardsticks.json, the
// length of γ; and a folder of several runs in place of one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "../data/tsv_line.h"
#include "engine/names.h"
#include "engine/text.h"
#include "error_of.h"
#include "report/svg.h"
#include "runs/bag_of_words.h"
#include "runs/comparison.h"
#include "runs/reported_run.h"
#include "runs/yardsticks.h"
#include "shell.h"
#include "small_run.h"

namespace minbert::test {
namespace {

Json record_of(const SmallWorld& world, const std::string& name) {
  return Json::load(world.path(name) + "/run.json");
}

// What stands between the first `begin` and the `end` after it.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  REQUIRE(from != text.npos);
  return text.substr(from, text.find(end, from) - from);
}

// Every match's first group.
Checked<std::string> every(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  Checked<std::string> all;
  for (std::sregex_iterator m(text.begin(), text.end(), regex), end; m != end; ++m) all.push_back((*m)[1]);
  return all;
}

}  // namespace

TEST_CASE("run record: the command as it can be typed again, options as numbers, the date of the first start") {
  SmallWorld world;
  TrainOptions o;
  CommandLine line("multitask", "");
  add_train_options(line, o);
  const std::string folder = world.path("it's here");
  Names words = {"build/bin/multitask", "--lr", "3e-4", "--epochs", "2", "--no-shuffle", "--data", "", "--out", folder};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  line.parse(int(argv.size()), argv.data());
  std::filesystem::create_directories(folder);

  const Json start = run_start(line, folder);
  const ShellResult typed = shell(world.path(""), "set -- " + start["command"].string() + "; printf '%s\\n' \"$@\"");
  CHECK(typed.said == joined(words, "\n") + "\n");                   // a shell reads the same words
  const Json options = start["options"];
  CHECK(options["--lr"].number() == 3e-4);
  CHECK(options["--epochs"].integer() == 2);
  CHECK(options["--norm"].string() == "layer");
  const Json odd = with_options(start, {{"--out", "1e999"}, {"--model", "nan"}, {"--data", "2026"}})["options"];
  CHECK(odd["--out"].string() == "1e999");          // what no number can hold stays a text
  CHECK(odd["--model"].string() == "nan");
  CHECK(odd["--data"].integer() == 2026);
  CHECK(options["--no-shuffle"].dump() == "true");
  CHECK(options["--compare"].dump() == "false");
  CHECK(std::regex_match(start["date"].string(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
  for (const char* fact : {"minbert", "commit", "compiler", "processor", "OpenBLAS", "kernels of OpenBLAS", "threads",
                           "ranks", "device"})
    CHECK_MESSAGE(start["environment"].has(fact), fact);

  Json first = start;
  write_record(folder, first.set("command", "first").set("date", "then"));
  CHECK(run_start(line, folder)["command"].string() == "first");     // when it goes on
  CHECK(run_start(line, folder)["date"].string() == "then");
}

TEST_CASE("run record: model, data and scores of a run") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.limit = 4;
  const RunResult result = reported_run(world, o, "run");
  const Json record = record_of(world, "run");
  CHECK(record["best_epoch"].integer() == result.best_epoch + 1);
  CHECK(record["dev_mean"].number() == mean_score(result.dev));
  CHECK(record["steps"].integer() == result.steps);
  for (const Task& task : parse_tasks(o.tasks)) {
    const std::string file = std::filesystem::path(data_file(o.data, task, Split::train)).filename();
    for (const char* set : {"train", "dev"}) CHECK(record["data"][task.name]["rows"][set].integer() == 4);
    CHECK(record["data"][task.name][file]["bytes"].integer() == int64_t(read_file(o.data + "/" + file).size()));
  }
  CHECK(record["scores"]["dev"]["sst"]["accuracy"].number() == *result.dev[0][0]);
  CHECK(record["scores"]["dev"]["sts"]["pearson"].number_if() == result.dev[2][0]);
  CHECK(record["model"]["files"].has("model.safetensors"));

  CHECK(record["data"]["sst"]["skipped"].dump(-1) == R"({"dev":0,"test":0,"train":0})");

  o.skip_bad_rows = true;                           // in all that reads the data again, too
  const std::string file = world.path("data/ids-sst-dev.csv"), before = read_file(file);
  write_file(file, before + "8\tsst-1-8\tgood\t9\n");
  reported_run(world, o, "skipped");
  CHECK(record_of(world, "skipped")["data"]["sst"]["skipped"].dump(-1) == R"({"dev":1,"test":0,"train":0})");
  write_file(file, before.substr(0, before.size() - 2) + "1\n");     // another label
  const auto of = [](const Json& json) { return json["data"]["sst"]["ids-sst-dev.csv"]["fingerprint"].string(); };
  reported_run(world, o, "again");
  CHECK(of(record_of(world, "again")) != of(record));
}

TEST_CASE("run record: what was read from it are the scores that were written, undefined ones too") {
  SmallWorld world;
  TrainOptions o = world.options();
  const Quiet quiet;
  const Experiment experiment(o);
  const RunResult wrote{.train = {{0.5}, {0.25}, {std::nullopt}}, .dev = {{1.0 / 3}, {0.2}, {std::nullopt}},
                        .best_epoch = 4, .steps = 17, .first_gradient = 0.1, .parameters = 7, .trained = 3,
                        .seconds = 1.5};
  const RunResult read = result_of(experiment, Json::parse(json_of(experiment, wrote).dump(), "test"));
  CHECK(read.train == wrote.train);
  CHECK(read.dev == wrote.dev);
  CHECK(read.best_epoch == 4);
  CHECK(read.steps == 17);
  CHECK(read.seconds == 1.5);
  CHECK(read.first_gradient == 0.1);
  CHECK(read.parameters == 7);
  CHECK(read.trained == 3);

  const Task mnli = parse_tasks("mnli")[0];                          // two dev sets
  const TaskScores both = {0.5, 0.75};
  CHECK(scores_of(mnli, json_of(mnli, both)) == both);
}

TEST_CASE("run record: the yardsticks are computed once, and the majority is that of the training set") {
  SmallWorld world;
  TrainOptions o = world.options();
  reported_run(world, o, "run");
  const Json written = Json::load(world.path("run/yardsticks.json")), yardsticks = written["scores"];
  std::map<std::string, int> labels;
  const auto labels_in = [&](const std::string& file) {
    Names all;
    std::istringstream in(read_file(file));
    std::string line;
    for (std::getline(in, line); std::getline(in, line);) all.push_back(line.substr(line.rfind('\t') + 1));
    return all;
  };
  for (const std::string& label : labels_in(world.path("data/quora-train.csv"))) ++labels[label];
  const std::string most = std::ranges::max_element(labels, {}, [](const auto& of) { return of.second; })->first;
  const Names dev = labels_in(world.path("data/quora-dev.csv"));
  const Json of = yardsticks["majority class"];
  CHECK(of["quora"]["accuracy"].number() == double(std::ranges::count(dev, most)) / double(dev.size()));
  CHECK(of["sts"]["pearson"].number_if() == std::nullopt);           // a mean correlates with nothing
  const Tokenizer tokenizer(world.path("vocab.txt"), true);
  const Task sst = parse_tasks("sst")[0];
  const auto read = [&](Split split) {
    return read_set(o.data, sst, split, 0, tokenizer, {.pairs = Pairs::siamese}, std::cerr);
  };
  const BagSets sets{read(Split::train), {read(Split::dev)}};
  const BagResult bag = bag_of_words(sst, sets, tokenizer.size(), uint64_t(o.seed));
  CHECK(yardsticks["word counts"]["sst"]["accuracy"].number_if() == bag.dev.at(0));
  CHECK(record_of(world, "run")["yardsticks"].dump() == yardsticks.dump());

  o.out = world.path("run");
  const Quiet quiet;
  write_file(world.path("run/yardsticks.json"), std::regex_replace(written.dump(), std::regex("0\\.\\d+"), "0.125"));
  const auto of_quora = [&] {
    const Experiment experiment(o);
    return yardsticks_of(experiment, with_sources(no_command_line(), experiment))[0][1][0];
  };
  CHECK(of_quora() == 0.125);
  o.limit = 3;                                      // of other data: computed again
  CHECK(of_quora() != 0.125);
}

TEST_CASE("run record: the length of γ_t is the mean over the norms, where they are conditional [CLN eq.4]") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 1;
  world.run(o, "conditional");
  const Names tasks = {"sst", "quora", "sts"};
  for (size_t t = 0; t < tasks.size(); ++t) {
    double sum = 0;
    int norms = 0;
    for (const auto& [name, values] : weights(world.path("conditional"))) {
      if (!name.ends_with(".task_weight")) continue;
      REQUIRE(values.size() == 3 * 8);
      double square = 0;
      for (size_t i = 0; i < 8; ++i) square += std::pow(values[t * 8 + i], 2);
      sum += std::sqrt(square), ++norms;
    }
    REQUIRE(norms == 3);                            // of the embeddings, and two in the layer
    CHECK(sum > 0);
    CHECK(std::stod(column(world.path("conditional/epochs.csv"), tasks[t] + "_gamma")[0]) ==
          doctest::Approx(sum / norms).epsilon(1e-6));
  }
  world.run(o, "plain", 0, "layer");
  CHECK_FALSE(contains(read_file(world.path("plain/epochs.csv")), "_gamma"));
}

TEST_CASE("run page: confusions, and the examples of the largest loss first, each with its command") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.norm = "conditional-layer";
  const std::string hostile = "<script>alert('good')</script> is $HOME `bad`";
  const std::string file = world.path("data/ids-sst-dev.csv");
  write_file(file, read_file(file) + tsv_line({"8", "h-1", hostile, "4"}));
  const RunResult result = reported_run(world, o, "run");
  const std::string page = read_file(world.path("run/report.html"));
  CHECK_FALSE(contains(page, "<script>alert"));
  CHECK(contains(page, "&lt;script&gt;alert"));
  for (const std::string title : {"Scores on dev, of the best epoch", "Learning", "How far each task",
                                  "SST: what it confuses", "majority class", "word counts", "--batch", "OpenBLAS",
                                  "ids-sst-dev.csv"})
    CHECK_MESSAGE(contains(page, title), title);

  // The first list and the first table with a corner are those of SST.
  const Predictions& sst = result.predictions[0][0];
  const Quiet quiet;
  const Dataset dev = Experiment(o).data()[0].dev[0];
  REQUIRE(dev.examples.size() == 9);
  std::vector<std::pair<double, std::string>> expected;             // the probability of the label, text
  std::vector<int> counts(25);
  for (size_t i = 0; i < dev.examples.size(); ++i) {
    double sum = 0;
    for (const double z : sst.row(i)) sum += std::exp(z);
    const size_t label = size_t(dev.examples[i].label);
    expected.emplace_back(std::exp(sst.row(i)[label]) / sum, dev.examples[i].texts[0]);
    ++counts[label * 5 + size_t(sst.values[i])];
  }
  std::ranges::sort(expected);
  const std::string list = between(page, "<ul class=\"list inputs\">", "</ul>");
  const auto shown = every(list, "<div><p>(.*?)</p>"), commands = every(list, "<pre>(.*?)</pre>"),
              of_label = every(list, "of the label ([0-9.]+)");
  REQUIRE(shown.size() == 9);
  for (size_t i = 0; i < 9; ++i) {
    CHECK(shown[i] == escaped(expected[i].second));
    CHECK(std::stod(of_label[i]) == doctest::Approx(expected[i].first).epsilon(0.01).scale(0.01));
    CHECK(contains(commands[i], "inside --model " + world.path("run") + " --task sst --label "));
    CHECK(commands[i].ends_with(escaped("--text " + shell_word(expected[i].second))));
  }
  const auto cells = every(between(page, "label \\ predicted", "</table>"), "\"number\">(\\d+)<");
  REQUIRE(cells.size() == 25);
  for (size_t i = 0; i < 25; ++i) CHECK(std::stoi(cells[i]) == counts[i]);
}

TEST_CASE("run page: of a comparison, and each of its runs by itself") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.compare = true, o.seeds = 2, o.out = world.path("both");
  {
    const Quiet quiet;
    const Experiment experiment(o);
    CHECK(compare(experiment, variants_of(o), with_sources(no_command_line(), experiment)) == 0);
  }
  const std::string page = read_file(world.path("both/report.html"));
  const Json runs = record_of(world, "both")["runs"];
  CHECK(runs.members().size() == 4);
  for (const auto& [name, run] : runs.members()) {
    INFO(name);
    CHECK(contains(page, "\"" + name + "/report.html\""));
    CHECK(std::filesystem::exists(o.out + "/" + name + "/report.html"));
    const Json own = record_of(world, "both/" + name);
    CHECK(own["scores"].dump() == run["scores"].dump());
    CHECK(contains(name, own["options"]["--norm"].string() + "/"));
    CHECK(name.ends_with(std::to_string(own["options"]["--seed"].integer())));
  }

  const std::vector<FoundRun> found = runs_in(o.out);
  REQUIRE(found.size() == 4);
  for (size_t i = 0; i + 1 < found.size(); ++i) CHECK(found[i].dev_mean >= found[i + 1].dev_mean);
  CHECK(runs_in(found[2].folder)[0].folder == found[2].folder);
  CHECK(runs_in(found[2].folder).size() == 1);
  CHECK(runs_in(world.path("data")).empty());
  CHECK(runs_in(world.path("gone")).empty());
  const Quiet quiet;
  CHECK(one_run(o.out) == found[0].folder);
  CHECK(contains(quiet.text(), "both has 4 runs; the best by its mean dev score is taken:"));
  for (const FoundRun& run : found) CHECK(contains(quiet.text(), run.folder));
  CHECK(one_run(found[1].folder) == found[1].folder);
  CHECK(one_run(world.path("start")) == world.path("start"));
}

TEST_CASE("a word of a command is what the shell reads, whatever is in it") {
  for (const std::string word : {"plain", "", "two words", "it's", "$HOME `id` \\ \"q\"", "*", "a\nb", "ä", "--x=1,2"})
    CHECK(shell("/", "printf %s " + shell_word(word)).said == word);
  CHECK(shell_word("data/mini") == "data/mini");
}

}  // namespace minbert::test
