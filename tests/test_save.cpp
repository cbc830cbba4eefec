// What a run leaves behind when it is killed, and how it goes on from there.
#include <doctest/doctest.h>

#include "child.h"
#include "error_of.h"
#include "library.h"
#include "minbert/pretrainer.h"
#include "small_run.h"
#include "train/cli/command_line.h"
#include "train/interrupt.h"
#include "train/run_log.h"

namespace minbert::test {
namespace {

constexpr double after_every_step = 1e-9;           // minutes

Json position(const std::string& run) {
  const std::string file = run + "/state.safetensors";
  return Json::parse(SafeTensors(file).metadata().at("position"), file);
}

// Lets another process train in the folder and kills it where a save stands in the middle of
// something; then once more, when it has gone on. A run that ends before it is killed begins again.
template <class InTheMiddle>
void kill_twice(const std::string& test_case, int variant, const std::string& run,
                InTheMiddle in_the_middle) {
  int64_t last = 0;
  for (int kills = 0, ends = 0; kills < 2;) {
    Child child(test_case, formatted("{} {}", getpid(), variant));
    const bool killed = child.killed_when([&] {
      if (!has_state(run)) return false;
      const Json at = position(run);
      return at["step"].integer() > last + 3 && in_the_middle(at);
    });
    if (killed) {
      ++kills, last = position(run)["step"].integer();
    } else {
      REQUIRE(++ends < 50);                         // a busy machine looks late
      kills = 0, last = 0, std::filesystem::remove_all(run);
    }
  }
}

// Who is told this: the process that made the folders, and the variant.
struct Told {
  pid_t owner;
  int variant;
  Told() { std::istringstream(Child::told()) >> owner >> variant; }
};

TrainOptions options(const SmallWorld& world, int variant) {
  TrainOptions o = world.options();
  o.epochs = 12, o.batch = 1, o.save_every = 0;     // 26 batches and 9 steps an epoch
  if (variant == 1) o.sampling = Sampling::round_robin, o.cls_norm = "iso-bn", o.grad_norm = 0.5;
  if (variant == 2)
    o.tasks = "sst", o.accumulate = 1, o.cls_norm = "z", o.optimizer = OptimizerKind::sgd, o.momentum = 0.9;
  return o;
}
std::string norm_of(int variant) { return variant == 1 ? "batch" : "conditional-layer"; }

PretrainOptions options(const Library& library, const std::string& out, int variant) {
  PretrainOptions o = library.options(out);
  o.steps = 20, o.evaluate_every = 7, o.batch = 4, o.save_every = 0;
  if (variant == 1) o.norm = "power", o.accumulate = 1, o.whole_words = true;
  return o;
}

}  // namespace

TEST_CASE("save: a training run in another process" * doctest::skip()) {
  const Told told;
  SmallWorld world(told.owner);
  TrainOptions o = options(world, told.variant);
  o.save_every = after_every_step;
  world.run(o, "killed", 0, norm_of(told.variant));
}

TEST_CASE("save: a run that is killed within an epoch goes on from there, bit for bit") {
  for (const int variant : {0, 1, 2}) {
    INFO("variant " << variant);
    SmallWorld world;
    TrainOptions o = options(world, variant);
    world.run(o, "whole", 0, norm_of(variant));
    o.resume = true;
    kill_twice("save: a training run in another process", variant, world.path("killed"),
               [](const Json& at) {
                 return at["batches"].integer() % 26 != 0 && at["epoch"].integer() < 11;
               });
    world.run(o, "killed", 0, norm_of(variant));
    CHECK(contains(world.printed, "going on after step "));
    CHECK(contents(world.path("killed")) == contents(world.path("whole")));
  }
}

TEST_CASE("save: pre-training in another process" * doctest::skip()) {
  const Told told;
  const Library library(told.owner);
  PretrainOptions o = options(library, "killed", told.variant);
  o.save_every = after_every_step;
  pretrain(o);
}

TEST_CASE(
    "save: pre-training that is killed between two evaluations goes on from there, bit for bit") {
  for (const int variant : {0, 1}) {
    INFO("variant " << variant);
    const Library library;
    const Quiet quiet;
    pretrain(options(library, "whole", variant));
    kill_twice("save: pre-training in another process", variant, library.path("killed"),
               [](const Json& at) { return at["step"].integer() % 7 != 0; });
    pretrain(options(library, "killed", variant));
    CHECK(contains(quiet.text(), "going on after step "));
    CHECK(contents(library.path("killed")) == contents(library.path("whole")));
  }
}

// Both standard streams, which ask the program to stop as soon as this text is printed.
class StopsAt : public std::stringbuf {
 public:
  explicit StopsAt(std::string text)
      : text_(std::move(text)), out_(std::cout.rdbuf(this)), error_(std::cerr.rdbuf(this)) {}
  ~StopsAt() override { std::cout.rdbuf(out_), std::cerr.rdbuf(error_); }

 protected:
  std::streamsize xsputn(const char* s, std::streamsize n) override {
    const std::streamsize written = std::stringbuf::xsputn(s, n);
    if (!interrupted() && contains(str(), text_)) raise(SIGTERM);
    return written;
  }

 private:
  std::string text_;
  std::streambuf *out_, *error_;
};

// With one step an epoch: the tape (--trace) is printed in the first one, so that epoch 1 is scored
// next; behind the line of the last epoch the best model is scored, and its predictions are
// written.
TrainOptions with_one_step(const SmallWorld& world) {
  TrainOptions o = world.options();
  o.accumulate = 100, o.norm = "conditional-layer", o.seed = 1;
  return o;
}
const char* const scores_follow[] = {" -> ", "epoch 2/2 "};

TEST_CASE("save: a training run that is told to stop while it scores" * doctest::skip()) {
  const Told told;
  const SmallWorld world(told.owner);
  TrainOptions o = with_one_step(world);
  o.trace = true;
  watch_for_interrupt();
  const StopsAt stops(scores_follow[told.variant]);
  CHECK(train(Experiment(o), o, world.path("stopped")).interrupted);
  CHECK(contains(stops.str(),
                 formatted("stopped after step {}; go on with --resume", told.variant + 1)));
}

TEST_CASE(
    "save: a run that is told to stop while it scores does so, and goes on from there, bit for "
    "bit") {
  for (const int variant : {0, 1}) {
    INFO("variant " << variant);
    SmallWorld world;
    const TrainOptions o = with_one_step(world);
    world.run(o, "whole");
    CHECK(Child("save: a training run that is told to stop while it scores",
                formatted("{} {}", getpid(), variant))
              .peak_memory() > 0);  // it ended well
    CHECK(csv(world.path("stopped/epochs.csv")).size() == 1 + size_t(variant) * 2);
    CHECK_FALSE(std::filesystem::exists(world.path("stopped/predictions")));
    CHECK_FALSE(world.run(o, "stopped").interrupted);
    CHECK(contents(world.path("stopped")) == contents(world.path("whole")));
  }
}

PretrainOptions with_reports(const Library& library, const std::string& out) {
  PretrainOptions o = library.options(out);
  o.steps = 3, o.evaluate_every = 2;
  return o;
}

// Variant 0: before the first step; 1: when the only step before the end is done.
TEST_CASE("save: pre-training that is told to stop while it scores" * doctest::skip()) {
  const Told told;
  const Library library(told.owner);
  PretrainOptions o = with_reports(library, "stopped");
  if (told.variant == 1) o.evaluate_every = 1;
  o.trace = true;
  watch_for_interrupt();
  const StopsAt stops(told.variant == 0 ? "corpus: " : " -> ");
  CHECK(pretrain(o).interrupted);
  CHECK(
      contains(stops.str(), formatted("stopped after step {}; go on with --resume", told.variant)));
}

TEST_CASE(
    "save: pre-training that is told to stop while it scores does so, and goes on from there, bit "
    "for bit") {
  for (const int variant : {0, 1}) {
    INFO("variant " << variant);
    const Library library;
    const Quiet quiet;
    PretrainOptions o = with_reports(library, "whole");
    if (variant == 1) o.evaluate_every = 1;
    pretrain(o);
    CHECK(Child("save: pre-training that is told to stop while it scores",
                formatted("{} {}", getpid(), variant))
              .peak_memory() > 0);
    CHECK(has_state(library.path("stopped")) == (variant == 1));
    CHECK_FALSE(std::filesystem::exists(library.path("stopped/model")));
    o.out = library.path("stopped");
    CHECK_FALSE(pretrain(o).interrupted);
    CHECK(contents(o.out) == contents(library.path("whole")));
  }
}

TEST_CASE("save: a table is cut back to the rows that the state counts") {
  const SmallWorld world;
  const std::string file = world.path("table.csv");
  const auto kept = [&](const std::string& text, int64_t rows) {
    write_file(file, text);
    CsvFile table(file, "step,loss", rows);
    table.row("new");
    table.flush();
    return read_file(file);
  };
  CHECK(kept("step,loss\n1,a\n2,b\n3,c\n", 2) == "step,loss\n1,a\n2,b\nnew\n");
  CHECK(kept("step,loss\n1,a\n2,b\n3,", 2) == "step,loss\n1,a\n2,b\nnew\n");
  CHECK(kept("step,loss\n1,a\n2,b\n", 0) == "step,loss\nnew\n");
}

TEST_CASE("save: what a killed run had begun to write is removed, and nothing else") {
  const SmallWorld world;
  make_folder(world.path("run/model"));
  for (const char* name :
       {"run/state.safetensors", "run/notes.tmp-old", "run/state.safetensors.tmp-123-0",
        "run/model/model.safetensors.tmp-4-56"})
    write_file(world.path(name), "x");
  CHECK(is_temporary("state.safetensors.tmp-123-0"));
  remove_unfinished(world.path("run"));
  CHECK(std::filesystem::exists(world.path("run/state.safetensors")));
  CHECK(std::filesystem::exists(world.path("run/notes.tmp-old")));
  CHECK_FALSE(std::filesystem::exists(world.path("run/state.safetensors.tmp-123-0")));
  CHECK_FALSE(std::filesystem::exists(world.path("run/model/model.safetensors.tmp-4-56")));
}

}  // namespace minbert::test
