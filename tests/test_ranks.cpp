// Training in shards, in one process and on several ranks: the same bits, and what is said when a rank fails.
#include <doctest/doctest.h>

#include <csignal>
#include <thread>

#include "engine/ranks.h"
#include "error_of.h"
#include "gradcheck.h"
#include "library.h"
#include "minbert/trainer.h"
#include "runs/comparison.h"
#include "shell.h"
#include "small_run.h"
#include "tiny_bert.h"
#include "train/agreement.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"
#include "train/shards.h"

namespace minbert::test {
namespace {

Weights last_weights(const std::string& run) { return weights_in(run + "/state.safetensors"); }

void check_close(const std::string& a, const std::string& b) {
  const Weights one = last_weights(a), other = last_weights(b);
  CHECK(one.size() > 20);
  for (const auto& [name, values] : one) {
    INFO(name);
    CHECK(difference(values, other.at(name)) < tolerance(1e-5, 1e-12));
  }
}

std::vector<int64_t> optimizer_steps(const std::string& run) {
  return SafeTensors(run + "/state.safetensors").read_integers("optimizer.steps");
}

}  // namespace

TEST_CASE(
    "shards: a batch in parts is the batch in one piece, to rounding, also where parts differ or "
    "are empty") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.optimizer = OptimizerKind::sgd, o.lr = 0.1, o.weight_decay = 0, o.dropout = o.encoder_dropout = 0;
  for (const int batch : {10, 3}) {  // of the 10 rows of sst: 2, 3, 2, 3 in 4 shards; or 0, 1, 1, 1
    o.batch = batch;
    o.shards = 1;
    world.run(o, formatted("{}-whole", batch));
    for (const int shards : {2, 4, 16}) {
      INFO(batch << " examples in " << shards << " shards");
      o.shards = shards;
      const std::string run = formatted("{}-in-{}", batch, shards);
      world.run(o, run);
      check_close(world.path(run), world.path(formatted("{}-whole", batch)));
      const auto a = csv(world.path(run + "/steps.csv")),
                 b = csv(world.path(formatted("{}-whole/steps.csv", batch)));
      REQUIRE(a.size() == b.size());
      for (size_t i = 1; i < a.size(); ++i) {
        CHECK(std::stod(a[i][2]) == doctest::Approx(std::stod(b[i][2])).epsilon(1e-4));
        CHECK(a[i][4] == b[i][4]);                  // tokens
      }
    }
  }
}

TEST_CASE("shards: in pre-training every masked word counts alike, and every pair") {
  const Library library;
  const Quiet quiet;
  for (const int shards : {1, 4}) {
    PretrainOptions o = library.options(formatted("in-{}", shards));
    o.batch = 6, o.accumulate = 2, o.steps = 2, o.optimizer = OptimizerKind::sgd, o.lr = 0.5, o.dropout = 0,
    o.shards = shards;
    pretrain(o);
  }
  check_close(library.path("in-4"), library.path("in-1"));
  const auto a = csv(library.path("in-4/steps.csv")), b = csv(library.path("in-1/steps.csv"));
  REQUIRE(a.size() == b.size());
  for (size_t i = 1; i < a.size(); ++i)
    for (const size_t loss : {1, 2}) {
      INFO(a[0][loss]);
      CHECK(std::stod(a[i][loss]) == doctest::Approx(std::stod(b[i][loss])).epsilon(1e-4));
    }
}

TEST_CASE("shards: every part of a step, and of the next one, draws dropout masks of its own") {
  MultitaskBert model(tiny_config(), three_heads(), 0);
  const Parameters parameters(model, {});
  RunOptions o;
  o.shards = 4;
  Shards shards(o, parameters, 1);
  std::set<uint64_t> clocks;
  for (const int64_t first_batch : {0, 2})
    for (const BatchPart& part : shards.parts(first_batch, {8, 5})) clocks.insert(part.clock);
  CHECK(clocks.size() == 16);                       // of four batches, each in four parts
}

TEST_CASE("shards: the heads of other tasks, and their moments, are left alone") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "quora,sst", o.accumulate = 1, o.weight_decay = 0.5;
  o.shards = 1;
  world.run(o, "whole", 1);
  o.shards = 4;
  world.run(o, "parts", 1);
  CHECK(optimizer_steps(world.path("parts")) == optimizer_steps(world.path("whole")));
  const auto steps = optimizer_steps(world.path("parts"));
  CHECK(std::ranges::count(steps, 0) > 0);
  CHECK(std::ranges::count(steps, 1) > 0);
  const std::string resting =
      csv(world.path("parts/steps.csv"))[1][1] == "sst" ? "heads.quora." : "heads.sst.";
  const Weights one = last_weights(world.path("parts")), other = last_weights(world.path("whole"));
  int heads = 0;
  for (const auto& [name, values] : one) {
    if (!name.starts_with(resting)) continue;
    ++heads;
    CHECK(values == other.at(name));
  }
  CHECK(heads == 2);
}

TEST_CASE(
    "shards: what takes statistics over the batch is refused by its name where a batch is cut") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.shards = 4;
  const auto said = [&](const std::string& norm) {
    return error_of([&] { world.run(o, "refused", 0, norm); });
  };
  int refused = 0;
  for (const NormEntry& norm : norms().entries) {
    if (norm.mixes != Mixes::batch) continue;
    ++refused;
    CHECK(contains(said(norm.name),
                   formatted("--norm {} takes its statistics over the whole batch", norm.name)));
  }
  for (const NormEntry& norm : cls_norms().entries) {
    if (norm.mixes != Mixes::batch) continue;
    ++refused;
    o.cls_norm = norm.name;
    CHECK(
        contains(said("layer"),
                 formatted("--cls-norm {} takes its statistics over the whole batch", norm.name)));
  }
  CHECK(refused == 4);
  o.cls_norm = "none", o.grad_norm = 0.5;
  CHECK(contains(said("layer"), "--grad-norm 0.5 takes its statistics over the whole batch"));
  CHECK(contains(said("layer"), "which --shards 4 cuts: train in one process with --shards 1"));
  o.grad_norm = 0, o.shards = 3;
  CHECK(contains(said("layer"), "--shards 3: expected a power of two"));
}

// ---- On several ranks. Each rank is this test program, which runs the one test case below.

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool sanitized = true;                    // MPI leaks memory of its own
#else
constexpr bool sanitized = false;
#endif

// False where there is no MPI, and says so, once; and in double, as starting ranks takes its time.
bool has_mpi() {
  static const std::string obstacle = [] {
    std::string reason;
    if (!Ranks::built()) reason = "this build has no MPI";
    else if (sanitized || default_device() != Device::cpu)
      reason = "ranks are tested on the CPU, without sanitizers";
    else if (shell(".", "mpirun --version").status != 0) reason = "mpirun is not on PATH";
    if (!reason.empty()) std::cout << "mpi: not run (" << reason << ")\n";
    return reason;
  }();
  return obstacle.empty() && sizeof(real) == sizeof(float);
}

// One rank's program and what it is told. fault: see the test case below.
std::string rank_program(const std::string& words, const std::string& fault = "") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return formatted(
      "env 'MINBERT_RANK_WORDS={}' 'MINBERT_RANK_FAULT={}' {} '--test-case=ranks: one of several' "
      "--no-skip",
      words, fault, self);
}

bool is_open_mpi() {
  static const bool is = shell(".", "mpirun --version").has("Open MPI");
  return is;
}

// Ends after 100 s with status 124, should something hang.
ShellResult mpirun(int n, const std::string& program) {
  return shell(
      ".", formatted("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 "
                     "timeout -k 3 100 mpirun {} -n {} {}",
                     is_open_mpi() ? "--oversubscribe --bind-to none" : "", n, program));
}

// A program that is `first` as rank 0 and `other` as every other rank.
std::string by_rank(const SmallWorld& world, const std::string& first, const std::string& other) {
  const std::string file = world.path("by-rank.sh");
  write_file(file,
             formatted("case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in\n0) {} ;;\n*) {} ;;\nesac\n",
                       first, other));
  return "sh " + file;
}

std::string train_words(const SmallWorld& world,
                        const std::string& length = "--epochs 2 --batch 6 --accumulate 2") {
  return formatted(
      "multitask --model {} --data {} --out {} {} --sampling proportional --lr 0.01 --clip 1 "
      "--weight-decay 0.01 --shards 4 --threads 1",
      world.path("start"), world.path("data"), world.path("out"), length);
}

int64_t steps_in(const std::string& run) {
  const SafeTensors state(run + "/state.safetensors");
  return Json::parse(state.metadata().at("position"), run)["step"].integer();
}

// The mpirun of this rank. MPICH's has a process of its own between itself and the ranks.
pid_t parent_mpirun() {
  for (pid_t process = getppid();;) {
    std::ifstream stat(formatted("/proc/{}/stat", process));
    std::string number, name, state;
    pid_t parent = 0;
    if (!(stat >> number >> name >> state >> parent) || name.find("hydra_pmi") == std::string::npos)
      return process;
    process = parent;
  }
}

}  // namespace

// The main() of multitask or pretrain, for words "multitask --model ..."; "stop=N" ends it after N
// steps. Faults:
//   kill, error         once the run has saved, rank 1 is killed, or rank 2 cannot go on
//   USR1                once the run has saved, mpirun gets this signal
//   data                rank 1 has a wrong label
//   flip                no training: a bit of rank 1's parameters is not the others'
//   compare             no fault: layer beside conditional-layer, by compare()
TEST_CASE("ranks: one of several" * doctest::skip()) {
  std::istringstream in(std::getenv("MINBERT_RANK_WORDS"));
  const std::string fault = std::getenv("MINBERT_RANK_FAULT");
  std::vector<std::string> words;
  int64_t stop = 0;
  for (std::string word; in >> word;)
    if (word.starts_with("stop=")) stop = std::stol(word.substr(5));
    else words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const auto once_saved = [&](int rank, const std::string& name,
                              const std::function<void()>& happens) {
    if (fault != name || ranks().rank() != rank) return;
    const auto out = std::ranges::find(words, "--out");
    std::thread([state = out[1] + "/state.safetensors", happens] {
      while (!std::filesystem::exists(state))
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      happens();
    }).detach();
  };
  once_saved(1, "kill", [] { ::kill(getpid(), SIGKILL); });
  once_saved(0, "USR1", [] { ::kill(parent_mpirun(), SIGUSR1); });
  const int status = run_program(words.at(0), [&] {
    if (fault == "flip") {
      struct Values : Module {
        Tensor x = parameter("x", {1000}, Init::random);
      } values;
      const Parameters parameters(values, {});
      compare_parameters(3, parameters);
      if (ranks().rank() == 1) reinterpret_cast<unsigned char*>(values.x.data() + 717)[0] ^= 1;
      compare_parameters(7, parameters);
      return 0;
    }
    if (words[0] == "pretrain") {
      PretrainOptions o;
      CommandLine line("pretrain", "");
      add_pretrain_options(line, o);
      line.parse(int(argv.size()), argv.data());
      const auto lock = begin_run(line, o, o.resume ? Start::resume : Start::fresh);
      watch_for_interrupt();
      return pretrain(
                 o,
                 [&](const Json&) {
                   if (!o.resume) remember_options(line, o.out);
                 },
                 stop)
                     .interrupted
                 ? 130
                 : 0;
    }
    TrainOptions o;
    CommandLine line("multitask", "");
    add_train_options(line, o);
    line.parse(int(argv.size()), argv.data());
    const auto lock = begin_run(line, o, o.resume ? Start::resume : Start::fresh);
    if (fault == "data" && ranks().rank() == 1) {   // this rank sees another file
      const std::string other = o.data + "-other", file = other + "/ids-sst-train.csv";
      std::filesystem::copy(o.data, other, std::filesystem::copy_options::recursive);
      write_file(file, read_file(file) + "\n");
      o.data = other;
    }
    Experiment experiment(o);
    if (!o.resume) remember_options(line, o.out);
    watch_for_interrupt();
    if (fault == "compare") return compare(experiment, variants_of(o), no_command_line());
    auto& examples = const_cast<Dataset&>(experiment.data()[0].train).examples;
    once_saved(2, "error", [&] {                    // no such segment
      for (Example& e : examples) e.inputs.at(0).segments.at(0) = 1 << 20;
    });
    return train(experiment, o, o.out, stop).interrupted ? 130 : 0;
  });
  std::exit(status);
}

TEST_CASE(
    "ranks: 1, 2 and 4 ranks leave the same run, bit for bit, also where it is stopped and "
    "resumed") {
  if (!has_mpi()) return;
  SmallWorld world;
  const std::string dev = world.path("data/ids-sst-dev.csv"), few = read_file(dev);
  std::string many = few;  // more than are scored in one batch, which the ranks share
  for (int i = 0; i < 10; ++i) many += few.substr(few.find('\n') + 1);
  write_file(dev, many);
  const Library library;
  const std::string pretrain_words = formatted(
      "pretrain --corpus {} --vocab-size 60 --config tiny --max-length 24 --batch 6 --accumulate 2 "
      "--steps 6 "
      "--evaluate-every 4 --held-out 0.1 --lr 0.01 --shards 4 --threads 1 --out {}",
      library.path("corpus.txt"), library.path("out"));
  for (const auto& [words, out] :
       {std::pair(train_words(world) + " --cls-norm whitening", world.path("out")),
        std::pair(pretrain_words, library.path("out"))}) {
    INFO(words);
    Contents whole;
    const auto check = [&](const ShellResult& result) {
      INFO(result.said);
      CHECK(result.status == 0);
      const auto run = contents(out);
      if (whole.empty()) whole = run;
      CHECK(whole.size() > 5);
      check_equal(run, whole);
      std::filesystem::remove_all(out);
    };
    check(shell(".", rank_program(words)));         // without mpirun
    for (const int n : {1, 2, 4}) check(mpirun(n, rank_program(words)));
    for (const auto& [before, after] : {std::pair(1, 4), std::pair(4, 2)}) {
      const ShellResult stopped = mpirun(before, rank_program(words + " stop=2"));
      INFO(stopped.said);
      CHECK(stopped.status == 130);
      CHECK(times(stopped.said, "stopped after step 2;") == 1);
      check(
          mpirun(after, rank_program(words.substr(0, words.find(' ')) + " --resume --out " + out)));
    }
  }
}

TEST_CASE("ranks: a comparison over seeds is that of one process, and finds its runs done") {
  if (!has_mpi()) return;
  SmallWorld world;
  const std::string out = world.path("out"),
                    words = train_words(world, "--epochs 1 --batch 6 --compare --seeds 2");
  std::map<std::string, std::string> models;
  for (const int n : {1, 2}) {
    const ShellResult result = mpirun(n, rank_program(words, "compare"));
    INFO(result.said);
    REQUIRE(result.status == 0);
    CHECK(times(result.said, "paper, conditional-layer") <= 2);  // by one rank, in two tables
    for (const std::string run : {"layer/seed-11711", "layer/seed-11712",
                                  "conditional-layer/seed-11711", "conditional-layer/seed-11712"}) {
      const std::string model = read_file(formatted("{}/{}/model/model.safetensors", out, run));
      if (n == 1) models[run] = model;
      else CHECK(models.at(run) == model);
    }
    const ShellResult again = mpirun(n, rank_program("multitask --resume --out " + out, "compare"));
    INFO(again.said);
    CHECK(again.has("4 of 4 runs are done already"));
    std::filesystem::remove_all(out);
  }
}

TEST_CASE(
    "ranks: a rank that dies, or has an error, ends all of them with one message, and the run goes "
    "on") {
  if (!has_mpi()) return;
  SmallWorld world;
  const std::string words =
      train_words(world, "--epochs 100000 --batch 8 --limit 8 --save-every 0.001");
  const auto goes_on = [&] {                        // a step further, as if nothing had been
    const std::string out = world.path("out");
    const ShellResult further = mpirun(2, rank_program("multitask stop=1 --resume --out " + out));
    INFO(further.said);
    CHECK(further.status == 130);
    const auto run = contents(out);
    const int64_t step = steps_in(out);
    CHECK(step > 1);
    std::filesystem::remove_all(out);
    CHECK(shell(".", rank_program(words + formatted(" stop={}", step))).status == 130);
    CHECK(contents(out).at("state.safetensors") == run.at("state.safetensors"));
    CHECK(contents(out).at("steps.csv") == run.at("steps.csv"));
    std::filesystem::remove_all(out);
  };
  const ShellResult killed = mpirun(4, rank_program(words, "kill"));
  INFO(killed.said);
  CHECK(killed.status > 0);
  CHECK(killed.status != 124);
  CHECK(killed.has(is_open_mpi() ? "rank 1" : "RUNNING AT"));        // MPICH names process and host
  CHECK(killed.has("Killed"));
  goes_on();

  const ShellResult failed = mpirun(4, rank_program(words, "error"));
  INFO(failed.said);
  CHECK(failed.status == 1);
  CHECK(times(failed.said, "[rank ") == 1);
  CHECK(failed.has("[rank 2] multitask: "));
  CHECK(failed.has("1048576"));
  goes_on();

  // A signal that mpirun passes on: every rank ends after the same step.
  const ShellResult stopped = mpirun(4, rank_program(words, "USR1"));
  INFO(stopped.said);
  CHECK(times(stopped.said, "stopped after step") == 1);
  CHECK(stopped.has(formatted("stopped after step {};", steps_in(world.path("out")))));
  goes_on();
}

TEST_CASE("ranks: processes that srun started without connecting them do not train side by side") {
  if (!has_mpi()) return;
  SmallWorld world;
  for (const int process : {0, 1}) {
    const std::string slurm = formatted("SLURM_STEP_NUM_TASKS=2 SLURM_PROCID={} ", process);
    const ShellResult result = shell(".", slurm + rank_program(train_words(world)));
    INFO(result.said);
    CHECK(result.status == 1);
    CHECK(result.has("mpirun or srun started 2 processes, but did not connect them. "
                     "Give srun --mpi=pmix"));
    CHECK(result.has("For runs that have nothing to do with each other, unset SLURM_STEP_NUM_TASKS\n"));
    CHECK_FALSE(std::filesystem::exists(world.path("out")));
  }
}

TEST_CASE("ranks: a program without work to share" * doctest::skip()) {
  std::string text;
  CommandLine line("program", "of a test");
  line.option("text", text, "", "TEXT");
  std::string name = "program";
  char* words[] = {name.data()};
  line.parse(1, words);
  std::exit(run_program("program", [] {
    std::cout << "one of " << ranks().size() << std::endl;
    fail("with a message");
    return 0;
  }));
}

TEST_CASE("ranks: what a starter leaves in the environment is named where ranks matter, and not looked at elsewhere") {
  SmallWorld world;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    INFO(name);
    const ShellResult lone = shell(
        ".", formatted("{}=2 {} '--test-case=ranks: a program without work to share' --no-skip", name, self));
    INFO(lone.said);
    CHECK(lone.has("one of 1\n"));
    CHECK(lone.has("program: with a message\n"));
    CHECK(lone.status == 1);
    if (Ranks::built() && !has_mpi()) continue;
    const ShellResult run = shell(".", formatted("{}=2 {}", name, rank_program(train_words(world))));
    INFO(run.said);
    CHECK(run.has("mpirun or srun started 2 processes, but did not connect them."));
    CHECK(run.has(formatted(", unset {}\n", name)));
    CHECK(run.status == 1);
    CHECK_FALSE(std::filesystem::exists(world.path("out")));
  }
}

TEST_CASE("ranks: those that would not do the same work are told apart before the first step") {
  if (!has_mpi()) return;
  SmallWorld world;
  const std::string words = train_words(world);
  const auto refused = [&](int ranks, const std::string& program, const std::string& what) {
    const ShellResult result = mpirun(ranks, program);
    INFO(result.said);
    CHECK(result.status == 1);
    CHECK(times(result.said, "[rank ") == 1);
    CHECK(result.has(what));
    CHECK_FALSE(std::filesystem::exists(world.path("out/state.safetensors")));
    std::filesystem::remove_all(world.path("out"));
  };
  const auto beside = [&](const std::string& other) {
    return by_rank(world, rank_program(words), other);
  };
  refused(2, beside(rank_program(words + " --warmup 0.5")),
          "--warmup: rank 0 has 0, rank 1 has 0.5");
  refused(2, beside(rank_program(words, "data")), "the data: rank 0 has ");
  refused(8, rank_program(words), "8 ranks cannot share --shards 4 equally");
  refused(3, rank_program(words), "3 ranks cannot share --shards 4 equally");
  refused(2, rank_program(words + " --norm batch"),
          "--norm batch takes its statistics over the whole batch");
  refused(2, rank_program("multitask --no-such-option"), "[rank 0] multitask: ");
}

TEST_CASE("ranks: a flipped bit in a rank's parameters is found, with the rank and the step") {
  if (!has_mpi()) return;
  const ShellResult result = mpirun(4, rank_program("flip", "flip"));
  INFO(result.said);
  CHECK(result.status == 1);
  CHECK(result.has("[rank 0] flip: the ranks differ"));
  CHECK(result.has("the parameters after step 7: rank 0 has "));
  CHECK(times(result.said, "[rank ") == 1);
}

}  // namespace minbert::test
