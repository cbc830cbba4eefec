// Command lines: values are checked, choices are listed, and options are remembered.
#include <doctest/doctest.h>

#include <omp.h>
#include <unistd.h>

#include <filesystem>

#include "minbert/error.h"
#include "minbert/files.h"
#include "minbert/ops.h"
#include "minbert/train_options.h"
#include "small_run.h"

namespace minbert::test {
namespace {

struct Line {
  TrainOptions options;
  CommandLine line{"program", "for the tests"};
  explicit Line(std::vector<std::string> arguments = {}) {
    add_train_options(line, options);
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

TEST_CASE("options: a start without any takes those of the program's own demonstration, and says so") {
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
  CHECK(quiet.text() == "no options, so: multitask --model data/mini/bert --epochs 1 --from-scratch   "
                        "(--help lists them)\n");
}

TEST_CASE("options: the course's --option and the older --fine-tune-mode are --train, and count as having given it") {
  const Line older({"--option", "pretrain"});
  CHECK(older.options.train_mode == "last-linear-layer");
  CHECK(older.line.given("--train"));
  CHECK(older.line.given("--fine-tune-mode"));       // as older runs have stored it
  CHECK(Line({"--option", "finetune"}).options.train_mode == "full-model");
}

TEST_CASE("options: a value that is not valid is refused with what is") {
  Line line;
  const auto refused = [&line](const char* name, const char* value, const char* message) {
    CHECK_THROWS_WITH_AS(line.line.set(name, value), message, Error);
  };
  CHECK_THROWS_WITH_AS(line.line.set("--norm", "batsch"),
                       doctest::Contains("there is no norm \"batsch\"; the norms are: none, layer, "), Error);
  refused("--iso-bn-beta", "1", "--iso-bn-beta is no option any more; give --cls-norm iso-bn:beta=X");
  line.line.set("--iso-bn-beta", "0");              // as a run has stored it
  refused("--placement", "sandwich", "--placement: there is no \"sandwich\"; valid are: post, pre, normformer");
  refused("--cls-norm", "",
          "there is no [CLS] norm \"\"; the [CLS] norms are: none, z, min-max, l2, batch, whitening, iso-bn");
  refused("--cls-norm-at", "behind",
          "--cls-norm-at: there is no \"behind\"; valid are: per-method, pre-pooler, pooled");
  refused("--grad-norm", "-1", "--grad-norm: -1 is too small; the least is 0");
  refused("--sampling", "", "--sampling: there is no \"\"; valid are: sequential, round-robin, proportional");
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

TEST_CASE("options: a list's parts are checked one by one, and none may be there twice") {
  std::vector<std::string> names = {"layer"};
  std::vector<double> numbers = {0};
  CommandLine line("program", "of a test");
  line.list("--norm", names, {"layer", "rms", "none"}, "norms");
  line.list("--grad-norm", numbers, 0, "strengths");
  line.set("--norm", "rms,none"), line.set("--grad-norm", "0.5,1");
  CHECK(names == std::vector<std::string>{"rms", "none"});
  CHECK(numbers == std::vector<double>{0.5, 1});
  CHECK(line.values().at("--norm") == "rms,none");
  CHECK(line.values().at("--grad-norm") == "0.5,1");
  const auto refused = [&line](const char* name, const char* value, const char* message) {
    CHECK_THROWS_WITH_AS(line.set(name, value), message, Error);
  };
  refused("--norm", "layer,batsch", "--norm: there is no \"batsch\"; valid are: layer, rms, none");
  refused("--norm", "layer,,rms", "--norm: there is no \"\"; valid are: layer, rms, none");
  refused("--norm", "layer,layer", "--norm: \"layer\" is there twice");
  refused("--norm", "", "--norm: an empty list; give one or more, separated by commas");
  refused("--grad-norm", "0,x", "--grad-norm: \"x\" is not a number");
  refused("--grad-norm", "-1", "--grad-norm: -1 is too small; the least is 0");
  CHECK(names == std::vector<std::string>{"rms", "none"});
}

TEST_CASE("options: all of them survive being stored as text") {
  const Line a({"--lr", "0.1", "--clip", "1e-7", "--warmup", "0.06", "--compare", "--tasks", "sst",
                "--option", "pretrain"});
  Line b;
  for (const auto& [name, value] : a.line.values()) b.line.set(name, value);
  CHECK(a.line.values() == b.line.values());
  CHECK(b.options.lr == 0.1);
  CHECK(b.options.clip == 1e-7);
  CHECK(b.options.warmup == 0.06);
  CHECK(b.options.compare);
  CHECK_FALSE(b.line.given("--lr"));
}

TEST_CASE("options: those of a run are taken, and must not be given otherwise, but for some") {
  const std::string folder = std::filesystem::temp_directory_path() / formatted("minbert_options_{}", getpid());
  make_folder(folder);
  remember_options(Line({"--tasks", "sst,sts", "--lr", "0.1", "--save-every", "3"}).line, folder);
  Line same({"--tasks", "sst,sts"}), other({"--tasks", "sst"}), worse({"--tasks", "sst", "--lr", "0.2"});
  recall_options(same.line, folder);
  CHECK(same.options.lr == 0.1);
  CHECK(same.options.save_every == 3);
  Line sooner({"--save-every", "0.5"});             // changes nothing of what is learnt
  recall_options(sooner.line, folder);
  CHECK(sooner.options.save_every == 0.5);
  CHECK_THROWS_WITH_AS(recall_options(other.line, folder),
                       doctest::Contains("--tasks sst, but the run was started with sst,sts"), Error);
  recall_options(other.line, folder, {"--tasks"});  // as --evaluate does
  CHECK(other.options.tasks == "sst");
  CHECK(other.options.lr == 0.1);
  CHECK_THROWS_WITH_AS(recall_options(worse.line, folder, {"--tasks"}),
                       doctest::Contains("--lr 0.2, but the run was started with 0.1"), Error);
  std::filesystem::remove_all(folder);
}

TEST_CASE("options: more threads than cores work, and are said") {
  const int before = omp_get_max_threads(), cores = omp_get_num_procs();
  MachineOptions machine;
  machine.device = device_names()[size_t(default_device())];
  machine.matmul = precision_names()[size_t(matmul_precision())];
  const auto said = [&](int threads) {
    const Quiet quiet;
    machine.threads = threads;
    use_machine(machine);
    return quiet.text();
  };
  CHECK(said(cores).find("--threads") == std::string::npos);
  CHECK(said(cores + 3).find(formatted("--threads {}: more than the {} cores", cores + 3, cores)) == 0);
  CHECK(omp_get_max_threads() == cores + 3);
  std::vector<real> numbers(128 * 128);             // integers: every order of the sums gives the same
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = real(i % 7);
  const Tensor a = Tensor::from({128, 128}, numbers);
  const auto many = matmul(a, a).values();
  omp_set_num_threads(1);
  CHECK(many == matmul(a, a).values());
  omp_set_num_threads(before);
}

}  // namespace minbert::test
