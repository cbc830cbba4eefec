// Command lines: values are checked, choices are listed, and options are remembered.
#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>

#include "child.h"
#include "engine/names.h"
#include "engine/text.h"
#include "error_of.h"
#include "minbert/error.h"
#include "minbert/files.h"
#include "shell.h"
#include "small_run.h"
#include "train/cli/command_line.h"

namespace minbert::test {
namespace {

struct Line {
  TrainOptions options;
  CommandLine line{"program", "for the tests"};
  explicit Line(std::vector<std::string> arguments = {}) {
    add_train_options(line, options);
    line.closing("Writes a model.", {"--model bert --epochs 3", "--resume"});
    arguments.insert(arguments.begin(), "program");
    std::vector<char*> pointers;
    for (std::string& a : arguments) pointers.push_back(a.data());
    line.parse(int(pointers.size()), pointers.data());
  }
};

}  // namespace

TEST_CASE("options: what is given is set, what is not keeps its default") {
  const Line given(
      {"--epochs", "3", "--lr", "5e-4", "--norm", "conditional-layer", "--no-shuffle", "--data=d"});
  CHECK(given.options.epochs == 3);
  CHECK(given.options.lr == 5e-4);
  CHECK(given.options.norm == "conditional-layer");
  CHECK(given.options.no_shuffle);
  CHECK(given.options.data == "d");
  CHECK(given.options.batch == 8);
  CHECK(given.line.given("--epochs"));
  CHECK_FALSE(given.line.given("--batch"));
}

TEST_CASE(
    "options: a start without any takes those of the program's own demonstration, and says so") {
  TrainOptions o;
  CommandLine line("multitask", "Trains.");
  add_train_options(line, o);
  std::string program = "build/bin/multitask";
  char* words[] = {program.data()};
  const Quiet quiet;
  line.parse(1, words, "--model data/mini/bert --epochs 1 --from-scratch");
  CHECK(o.model == "data/mini/bert");
  CHECK(o.epochs == 1);
  CHECK(o.from_scratch);
  CHECK(line.given("--epochs"));
  CHECK_FALSE(line.given("--lr"));
  CHECK(quiet.text() ==
        "no options, so: build/bin/multitask --model data/mini/bert --epochs 1 --from-scratch   "
        "(--help lists them)\n");
}

TEST_CASE("options: the course's --fine-tune-mode is --train, and counts as having given it") {
  const Line course({"--fine-tune-mode", "last-linear-layer"});
  CHECK(course.options.train_mode == "last-linear-layer");
  CHECK(course.line.given("--train"));
}

TEST_CASE("options: a value that is not valid is refused with what is") {
  Line line;
  const auto refused = [&line](const char* name, const char* value, const char* message) {
    CHECK_THROWS_WITH_AS(line.line.set(name, value), message, Error);
  };
  CHECK_ERROR(line.line.set("--norm", "batsch"), "norm: there is no \"batsch\"; valid are: none, layer, ");
  refused("--placement", "sandwich",
          "--placement: there is no \"sandwich\"; valid are: post, pre, normformer; the nearest is post");
  refused("--cls-norm", "",
          "[CLS] norm: there is no \"\"; valid are: none, z, min-max, l2, batch, "
          "whitening, iso-bn; the nearest is z");
  refused("--cls-norm-at", "behind",
          "--cls-norm-at: there is no \"behind\"; valid are: per-method, pre-pooler, pooled; the nearest is pooled");
  refused("--grad-norm", "-1", "--grad-norm: -1 is too small; the least is 0");
  refused("--sampling", "",
          "--sampling: there is no \"\"; valid are: sequential, round-robin, proportional; the nearest is sequential");
  refused("--epochs", "many", "--epochs: \"many\" is not a whole number");
  refused("--epochs", "1.5", "--epochs: \"1.5\" is not a whole number");
  refused("--epochs", "3x", "--epochs: \"3x\" is not a whole number");
  refused("--epochs", "-1", "--epochs: -1 is too small; the least is 0");
  refused("--epochs", "9999999999", "--epochs: 9999999999 is too large; the most is 2147483647");
  refused("--batch", "0", "--batch: 0 is too small; the least is 1");
  refused("--lr", "nan", "--lr: \"nan\" is not a number");
  refused("--lr", "1e999", "--lr: \"1e999\" is not a number");
  refused("--lr", "", "--lr: \"\" is not a number");
  refused("--warmup", "2", "--warmup: 2 is too large; the most is 1");
  CHECK_THROWS_AS(line.line.set("--unknown", "1"), Error);
  CHECK(line.options.epochs == 10);
}

TEST_CASE("options: a list's parts are checked one by one") {
  std::vector<std::string> names = {"layer"};
  std::vector<double> numbers = {0};
  CommandLine line("program", "of a test");
  line.option("--norm", names, "norms", std::vector<std::string>{"layer", "rms", "none"});
  line.option("--grad-norm", numbers, "strengths", Range{0});
  line.set("--norm", "rms,none"), line.set("--grad-norm", "0.5,1");
  CHECK(names == std::vector<std::string>{"rms", "none"});
  CHECK(numbers == std::vector<double>{0.5, 1});
  CHECK(line.find("--norm").text() == "rms,none");
  CHECK(line.find("--grad-norm").text() == "0.5,1");
  const auto refused = [&line](const char* name, const char* value, const char* message) {
    CHECK_THROWS_WITH_AS(line.set(name, value), message, Error);
  };
  refused("--norm", "layer,batsch",
          "--norm: there is no \"batsch\"; valid are: layer, rms, none; the nearest is layer");
  refused("--norm", "layer,,rms", "--norm: there is no \"\"; valid are: layer, rms, none; the nearest is rms");
  refused("--grad-norm", "0,x", "--grad-norm: \"x\" is not a number");
  refused("--grad-norm", "-1", "--grad-norm: -1 is too small; the least is 0");
  CHECK(names == std::vector<std::string>{"rms", "none"});
}

TEST_CASE("options: a program in another process" * doctest::skip()) {
  std::vector<std::string> words;
  std::istringstream told(Child::told());
  for (std::string word; told >> word;) words.push_back(word);
  const Line line(words);
  std::exit(run_program("program", [] {
    std::cout << "result\n";
    return 0;
  }));
}

TEST_CASE("options: what is not expected is said; a full disk is noticed") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto program = [&](const std::string& words, const std::string& out = "/dev/stdout") {
    return shell(
        ".",
        formatted(
            "(MINBERT_CHILD='{}' '{}' -tc='options: a program in another process' --no-skip > {})",
            words, self, out));
  };
  const auto refused = [&](const std::string& words, const std::string& message) {
    const ShellResult result = program(words);
    INFO(result.said);
    CHECK(result.has("program: " + message + "\nprogram --help lists the options.\n"));
    CHECK(result.status == 2);
  };
  refused("--modle x", "not expected: --modle x; the nearest is --model");
  refused("--task=rte", "not expected: --task=rte; the nearest is --tasks");
  refused("rte", "not expected: rte");
  refused("x -- --modle", "not expected: x --modle");
  CHECK(program("--epochs 3 --").has("result"));
  refused("--lr 1 --lr 2", "--lr: given 2 times; once is enough");
  refused("--norm layr",
          "norm: there is no \"layr\"; valid are: " + joined(names_of(norms().entries)) + "; the nearest is layer");
  CHECK(program("--epochs 3").has("result"));
  const ShellResult few = program("--help"), all = program("--help-all");
  CHECK(few.has("\nWrites a model.\n\nExamples:\n  program --model bert --epochs 3\n  program --resume\n"));
  CHECK(few.has("\n--help-all prints every option.\n"));
  const auto shows = [](const ShellResult& help, const std::string& option,
                        const std::string& by_default) {
    return help.has("\n  " + option + "=" + by_default + " ") ||                // CLI11 before 2.4
           help.has("\n  " + option + " [" + by_default + "] ");
  };
  CHECK(shows(few, "--epochs N", "10"));
  CHECK(!few.has("--clip"));
  CHECK(shows(all, "--momentum X", "0"));
  CHECK(all.has("\n  --clip X                        largest norm of the gradient; default: off\n"));
  for (const ShellResult& help : {few, all}) {
    std::istringstream lines(help.said);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
  }
  for (const char* words : {"--epochs 3", "--help", "--help-all", "--norm help"}) {
    INFO(words);
    CHECK(program(words).status == 0);
    const ShellResult full = program(words, "/dev/full");
    CHECK(full.status == 1);
    CHECK(full.has("program: standard output cannot be written; is the disk full?\n"));
    // A run's results are in --out, and need no screen; help is nowhere else.
    CHECK(program(words, "/dev/null >&-").status == (words == std::string("--epochs 3") ? 0 : 1));
  }
}

TEST_CASE("options: -- ends them: a text or a file may begin with a hyphen") {
  const auto texts = [](std::vector<std::string> words) {
    std::string text, second, model;
    std::vector<std::string> files;
    CommandLine line("program", "of a test");
    line.option("text", text, "", "TEXT");
    line.option("second", second, "", "TEXT");
    line.option("files", files, "", "FILE");
    line.option("--model", model, "", "DIR");
    words.insert(words.begin(), "program");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    line.parse(int(pointers.size()), pointers.data());
    return formatted("{}|{}|{}|{}", model, text, second, joined(files));
  };
  CHECK(texts({"--model", "m", "--", "--json"}) == "m|--json||");
  CHECK(texts({"a", "--model", "m", "--", "-5", "--model", "--"}) == "m|a|-5|--model, --");
  CHECK(texts({"--", "--", "--model=x"}) == "|--|--model=x|");
  CHECK(texts({"a", "b", "--"}) == "|a|b|");
}

TEST_CASE("options: control characters in a message are shown, and hide nothing") {
  CHECK(visible("a\r\x1B[2Jb\x7F\x01\tc\nd \xC3\xA9") == "a\\r\\x1b[2Jb\\x7f\\x01\tc\nd \xC3\xA9");
  CHECK(visible(std::string("\0x", 2)) == "\\x00x");
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const ShellResult refused = shell(
      ".", formatted("MINBERT_CHILD='--norm layer\x1B[2J' '{}' -tc='options: a program in another process' "
                     "--no-skip", self));
  CHECK(refused.has("program: norm: there is no \"layer\\x1b[2J\"; valid are: "));
  CHECK(refused.status == 2);
  const Quiet quiet;
  CHECK(run_program("program", []() -> int { fail("no task \"sst\r\""); }) == 1);
  CHECK(quiet.text() == "program: no task \"sst\\r\"\n");
}

TEST_CASE(
    "options: the exit status tells a mistake on the command line from other errors, in words of "
    "ours") {
  const auto ends = [](const std::function<int()>& body, int status, const std::string& said) {
    const Quiet quiet;
    CHECK(run_program("program", body) == status);
    CHECK(quiet.text() == said);
  };
  ends([] { return 130; }, 130, "");
  ends([]() -> int { fail("no file"); }, 1, "program: no file\n");
  CommandLine line("program", "of a test");
  std::string model = "m", task, input;
  line.option("--model", model, "", "DIR");
  line.option("--task", task, "", "NAME");
  line.option("--input", input, "", "FILE");
  CHECK_THROWS_WITH_AS(line.need({"--model", "--task", "--input"}),
                       "--task and --input must be given; see minbert program --help", Error);
  line.set("--task", "sst"), line.set("--input", "f");
  line.need({"--model", "--task", "--input"});
}

TEST_CASE(
    "options: mistakes that only several options or the model's sizes show are found before data "
    "is read") {
  const SmallWorld world;
  const auto refused = [&](const auto& change, const std::string& message) {
    TrainOptions o = world.options();
    o.data = world.path("gone");                    // it is looked for later
    change(o);
    CHECK_ERROR(Experiment{o}, message);
  };
  refused([](TrainOptions& o) { o.tasks = "sst,foo"; },
          "--tasks sst,foo: there is no task \"foo\"");
  refused([](TrainOptions& o) { o.metric = "sst=f1"; },
          "--metric sst=f1: sst is not scored by \"f1\"");
  refused([](TrainOptions& o) { o.model = "", o.config = "huge"; }, "\"huge\"");
  refused([](TrainOptions& o) { o.norm = "group:groups=7"; },
          "8 channels do not part into 7 groups");
  refused([](TrainOptions& o) { o.train_mode = "half"; }, "--train: there is no \"half\"");
  refused([](TrainOptions& o) { o.shards = 3; }, "--shards 3: expected a power of two");
  refused([](TrainOptions& o) { o.shards = 2, o.norm = "batch"; },
          "--norm batch takes its statistics over the whole");
  TrainOptions o = world.options(), other = o;
  other.norm = "group:groups=7";
  CHECK_ERROR((Experiment{o, {other}}), "8 channels do not part");
  o.data = world.path("gone");
  CHECK_ERROR(Experiment{o}, "--data " + o.data + ": there is no such folder");
  o.tasks = " sst , sts";
  o.data = world.path("data");
  const Quiet quiet;
  CHECK(Experiment{o}.data().size() == 2);
}

TEST_CASE("options: the nearest name needs the fewest letters put in, left out or changed, capitals aside") {
  CHECK(nearest("--modle", {"--mode", "--model", "--metric"}) == "--mode");
  CHECK(nearest("--modle", {"--metric", "--model"}) == "--model");
  CHECK(nearest("RTE", {"sst", "rte", "sts"}) == "rte");
  CHECK(nearest("ab", {"abc", "b"}) == "abc");     // one letter each: the first
  CHECK(nearest("kitten", {"sitting"}, 3) == "sitting");
  CHECK(nearest("kitten", {"sitting"}, 2) == "");
  CHECK(nearest("x", {}) == "");
  CHECK(split(" a b ,\tc,, ") == std::vector<std::string>{"a b", "c", "", ""});
}

TEST_CASE("options: those of a run are taken, and must not be given otherwise, but for some") {
  const std::string folder =
      std::filesystem::temp_directory_path() / formatted("minbert_options_{}", getpid());
  make_folder(folder);
  remember_options(Line({"--tasks", "sst,sts", "--lr", "0.1", "--save-every", "3"}).line, folder);
  Line same({"--tasks", "sst,sts"}), other({"--tasks", "sst"}),
      worse({"--tasks", "sst", "--lr", "0.2"});
  recall_options(same.line, folder);
  CHECK(same.options.lr == 0.1);
  CHECK(same.options.save_every == 3);
  Line sooner({"--save-every", "0.5"});             // changes nothing of what is learnt
  recall_options(sooner.line, folder);
  CHECK(sooner.options.save_every == 0.5);
  CHECK_ERROR(recall_options(other.line, folder), "--tasks sst, but the run was started with sst,sts");
  recall_options(other.line, folder, {"--tasks"});  // as --evaluate does
  CHECK(other.options.tasks == "sst");
  CHECK(other.options.lr == 0.1);
  CHECK_ERROR(recall_options(worse.line, folder, {"--tasks"}), "--lr 0.2, but the run was started with 0.1");
  std::filesystem::remove_all(folder);
}

}  // namespace minbert::test
