// A model's task parameters belong to task names: going on with fewer tasks, in another order, with new ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "minbert/optimizer.h"
#include "small_run.h"
#include "task_files.h"

namespace minbert::test {
namespace {

using Names = std::vector<std::string>;

Names tasks_in(const std::string& run) { return BertConfig::load(run + "/model/config.json").tasks; }

// What belongs to a task: its head, and its row of 8 or 16 numbers in each conditional norm.
Weights parts_of(const std::string& run, const std::string& task) {
  const Names tasks = tasks_in(run);
  const size_t row = size_t(std::ranges::find(tasks, task) - tasks.begin());
  Weights parts;
  for (const auto& [name, values] : weights(run)) {
    const std::string head = tasks.size() == 1 ? "classifier." : "heads." + task + ".";
    if (name.starts_with(head)) parts["head." + name.substr(head.size())] = values;
    if (!contains(name, ".task_")) continue;
    const size_t H = values.size() / tasks.size();
    parts[name].assign(values.begin() + int64_t(row * H), values.begin() + int64_t((row + 1) * H));
  }
  REQUIRE(parts.size() == 2 + 6);                   // weight and bias of the head and of three norms
  return parts;
}

std::vector<double> says(const std::string& run, const TrainOptions& o, const std::string& task) {
  const Quiet quiet;
  TrainOptions alone = o;
  alone.tasks = task;
  const Experiment experiment(alone);
  TrainedModel trained(run);
  return predict(trained.model.network, experiment.data()[0].task, experiment.data()[0].dev[0]).values;
}

}  // namespace

TEST_CASE("task names: a model goes on with fewer tasks, in any order and with a new one, and loses none") {
  SmallWorld world;
  TrainOptions o = world.options();
  for (const std::string& optimizer : choices<OptimizerKind>()) {
    INFO(optimizer);
    const auto at = [&](const std::string& name) { return optimizer + "-" + name; };
    o.optimizer = choice<OptimizerKind>(optimizer, "");
    o.momentum = o.optimizer == OptimizerKind::sgd ? 0.9 : 0;
    o.model = world.path("start"), o.tasks = "sst,quora,sts";
    world.run(o, at("three"));
    CHECK_FALSE(contains(world.printed, "tasks taken over"));        // the start knows no tasks

    o.model = world.path(at("three")), o.tasks = "sts,sst";
    const RunResult two = world.run(o, at("two"));
    CHECK(contains(world.printed, "tasks taken over: sts, sst; new: none; at rest, with heads and task parameters as "
                                  "they are: quora\n"));
    CHECK(two.dev.size() == 2);
    CHECK(tasks_in(world.path(at("two"))) == Names{"sst", "quora", "sts"});
    CHECK(parts_of(world.path(at("two")), "quora") == parts_of(world.path(at("three")), "quora"));
    for (const char* task : {"sst", "sts"})
      for (const auto& [name, values] : parts_of(world.path(at("two")), task)) {
        INFO(task << " " << name);
        CHECK(values != parts_of(world.path(at("three")), task).at(name));
      }
    CHECK(csv(world.path(at("two")) + "/epochs.csv")[0].size() == 1 + 2 * 3 + 2);
    CHECK_FALSE(std::filesystem::exists(world.path(at("two")) + "/predictions/para-dev-output.csv"));

    o.model = world.path(at("two")), o.tasks = "cfimdb,sst";
    world.run(o, at("four"));
    CHECK(contains(world.printed, "tasks taken over: sst; new: cfimdb; at rest, with heads and task parameters as they "
                                  "are: quora, sts\n"));
    CHECK(tasks_in(world.path(at("four"))) == Names{"sst", "quora", "sts", "cfimdb"});
    for (const char* task : {"quora", "sts"})
      CHECK(parts_of(world.path(at("four")), task) == parts_of(world.path(at("two")), task));
    CHECK(parts_of(world.path(at("four")), "sst") != parts_of(world.path(at("two")), "sst"));
  }
}

TEST_CASE("task names: a new task starts as it does in a new model, and the old ones go on where they were") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "cfimdb";
  world.run(o, "cfimdb");
  const std::vector<double> before = says(world.path("cfimdb"), o, "cfimdb");
  o.epochs = 0, o.tasks = "sst,cfimdb";
  world.run(o, "new");
  CHECK(tasks_in(world.path("new")) == Names{"sst", "cfimdb"});
  o.model = world.path("cfimdb");
  world.run(o, "both");
  CHECK(tasks_in(world.path("both")) == Names{"cfimdb", "sst"});     // the old one first: its row is 0
  CHECK(parts_of(world.path("both"), "cfimdb") == parts_of(world.path("cfimdb"), "cfimdb"));
  CHECK(parts_of(world.path("both"), "sst") == parts_of(world.path("new"), "sst"));
  for (const auto& [name, values] : parts_of(world.path("both"), "sst"))
    if (contains(name, ".task_"))
      for (const real v : values) CHECK((v == 0 && !std::signbit(v)));
  CHECK(says(world.path("both"), o, "cfimdb") == before);

  o.epochs = 2;                                     // whatever the model's list: the run's order is the table's
  CHECK(world.run(o, "stopped", 2).interrupted);
  CHECK(csv(world.path("stopped/steps.csv"))[1][1] == "sst");
  world.run(o, "stopped");
  world.run(o, "whole");
  CHECK(contents(world.path("stopped")) == contents(world.path("whole")));

  o.from_scratch = true;                            // the run's tasks alone, in the table's order
  world.run(o, "scratch");
  CHECK(tasks_in(world.path("scratch")) == Names{"sst", "cfimdb"});
  CHECK_FALSE(contains(world.printed, "tasks taken over"));
}

TEST_CASE("task names: under a frozen encoder a resting task's predictions stay, and its scores are its own") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "sst,quora,sts";
  const RunResult three = world.run(o, "three");
  const std::vector<double> before = says(world.path("three"), o, "quora");
  o.model = world.path("three"), o.train_mode = "last-linear-layer", o.tasks = "sst,cfimdb";
  world.run(o, "heads");
  CHECK(says(world.path("heads"), o, "quora") == before);

  const Quiet quiet;                                // as --evaluate --tasks sts: the model, and fewer tasks
  o = world.options();
  o.model = o.out = world.path("three"), o.tasks = "sts";
  const Scores sts = evaluate(Experiment(o), o.out);
  CHECK(sts == Scores{three.dev[2]});
  o.tasks = "cfimdb";
  CHECK_ERROR(evaluate(Experiment(o), o.out), "this model was not trained on \"cfimdb\"; its tasks: sst quora sts");
}

TEST_CASE("task names: a model of another norm keeps its heads, too") {
  SmallWorld world;
  TrainOptions o = world.options();
  world.run(o, "conditional");
  o.model = world.path("conditional"), o.tasks = "sst";
  world.run(o, "layer", 0, "layer");
  CHECK(contains(world.printed, "in the file, not used: bert.embeddings.LayerNorm.task_bias"));
  CHECK(tasks_in(world.path("layer")) == Names{"sst", "quora", "sts"});
  const Weights conditional = weights(world.path("conditional")), layer = weights(world.path("layer"));
  for (const char* head : {"heads.quora.weight", "heads.quora.bias", "heads.sts.weight", "heads.sts.bias"})
    CHECK(layer.at(head) == conditional.at(head));
  CHECK(layer.at("heads.sst.weight") != conditional.at("heads.sst.weight"));

  o.model = world.path("layer"), o.tasks = "cfimdb", o.epochs = 0;
  world.run(o, "again");                            // task parameters anew, heads as they were
  CHECK(tasks_in(world.path("again")) == Names{"sst", "quora", "sts", "cfimdb"});
  for (const auto& [name, values] : weights(world.path("again"))) {
    INFO(name);
    if (contains(name, ".task_")) CHECK(values == std::vector<real>(32, 0));
    else if (!contains(name, "cfimdb")) CHECK(values == layer.at(name));
  }
}

TEST_CASE("task names: what does not fit is refused: pairs encoded otherwise, rows without a name, an unknown name") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 0;
  world.run(o, "three");
  o.model = world.path("three"), o.tasks = "sst", o.pairs = Pairs::siamese;
  CHECK_ERROR(world.run(o, "other"), "heads.quora.weight is [1, 8] in the file, but [1, 24]");

  o.pairs = Pairs::cross;
  const std::string file = world.path("three/model/config.json");
  const auto with_tasks = [&](Json::Array tasks) {
    Json config = Json::load(file), ours = config["minbert"];
    write_file(file, config.set("minbert", ours.set("tasks", Json::array(std::move(tasks)))).dump());
    return error_of([&] { world.run(o, "other"); });
  };
  CHECK(contains(with_tasks({"sst", "quora"}), "task_weight is [3, 8] in the file, but [2, 8] by config.json"));
  CHECK(contains(with_tasks({"sst", "quora", "cfimdb"}),
                 "heads.cfimdb.weight is not among the weights, though config.json says that the model has the "
                 "head of this task, in \"minbert.tasks\""));
  CHECK(contains(with_tasks({"sst", "news"}), "\"minbert.tasks\" in config.json: there is no task \"news\""));
  CHECK(contains(with_tasks({"sst", "sst"}), "\"sst\" is named 2 times"));
}

}  // namespace minbert::test
