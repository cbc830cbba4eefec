// The recorder: what it measures of a step, that it changes nothing, and that a run that goes on writes the same.
#include <doctest/doctest.h>

#include <cmath>

#include "engine/names.h"
#include "error_of.h"
#include "minbert/files.h"
#include "report/source.h"
#include "runs/recorder.h"
#include "small_run.h"

namespace minbert::test {
namespace {

const Names task_names_of_world = {"sst", "quora", "sts"};

// A run with a recorder; stop_after: steps of this start
RunResult recorded(SmallWorld& world, TrainOptions o, const std::string& name, int64_t stop_after = 0) {
  const Quiet quiet;
  o.out = world.path(name);
  o.norm = "conditional-layer";
  Recorder recorder(o.out, task_names_of_world);
  return train(Experiment(o), o, o.out, stop_after, false, &recorder);
}

struct Gradients : Observer {
  void before_step(int64_t, const std::string&, Module&, const Parameters&) override { trace.emplace(); }
  void after_backward() override {
    for (const Trace::Operation& o : trace->operations())
      if (const Tensor g = o.result.grad()) std::cout << o.module << ' ' << o.name << ' ' << g.values()[0] << '\n';
    trace.reset();
  }
  std::optional<Trace> trace;                       // engine/tape.h
};

// {site: {what: value}} of one step
std::map<std::string, std::map<std::string, double>> of_step(const std::string& file, const std::string& step) {
  std::map<std::string, std::map<std::string, double>> values;
  for (const std::string& line : lines_of(read_file(file))) {
    const Names fields = split(line);
    if (fields.size() == 5 && fields[0] == step) values[fields[2]][fields[3]] = std::stod(fields[4]);
  }
  return values;
}

}  // namespace

TEST_CASE("recorder: a recorded run is the unrecorded one, bit for bit, and goes on as if it had not stopped") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 2;
  const RunResult plain = recorded(world, o, "plain");
  CHECK_FALSE(std::filesystem::exists(world.path("plain/sites.csv")));
  o.record = 2;
  const RunResult whole = recorded(world, o, "whole");
  CHECK(weights(world.path("whole")) == weights(world.path("plain")));
  CHECK(whole.steps == plain.steps);
  const std::string table = read_file(world.path("whole/sites.csv"));
  const Json shown = recorded_json(world.path("whole"));         // what a page reads: a matrix by what was measured
  CHECK(int64_t(shown["columns"].items().size()) == (whole.steps + 1) / 2);
  const std::string last = std::to_string((whole.steps - 1) / 2 * 2);
  for (const Json& of : shown["of"].items())
    for (size_t i = 0; i < of["sites"].items().size(); ++i)
      CHECK(of["values"].items()[i].numbers().back() ==
            of_step(world.path("whole/sites.csv"), last)[of["sites"].items()[i].string()][of["what"].string()]);
  CHECK(recorded_json(world.path("plain")).dump(-1) == "null");
  // A batch of one sentence has no EV_1: its column is empty, and the others stay where they are.
  write_file(world.path("sites.csv"), "step,task,site,what,value\n0,sst,[CLS],small 1-h²,0.5\n2,sst,[CLS],EV_1,0.25\n");
  const Json gaps = recorded_json(world.path(""));
  CHECK(gaps["of"].items()[1]["values"].dump(-1) == "[[null,0.25]]");
  for (int64_t step = 0; step < whole.steps; ++step)
    CHECK((step % 2 == 0) == contains(table, formatted("\n{},", step)));

  o.recompute = true;
  CHECK(contains(error_of([&] { recorded(world, o, "both"); }), "--record: --recompute keeps no input"));
  o.recompute = false;
  recorded(world, o, "parts", 3);
  write_file(world.path("parts/sites.csv"), read_file(world.path("parts/sites.csv")) + "4,sst,[CLS],EV_1,0.5\n");
  recorded(world, o, "parts");                      // a step that was not saved is taken, and written, again
  CHECK(read_file(world.path("parts/sites.csv")) == table);

  o.record = 0;
  recorded(world, o, "late", 3);
  o.record = 2;
  recorded(world, o, "late");                       // γ_0 is not known any more
  CHECK(contains(read_file(world.path("late/sites.csv")), "deviation of x"));
  CHECK_FALSE(contains(read_file(world.path("late/sites.csv")), "|γ-γ_0|"));
}

TEST_CASE("recorder: gains are those of the weights, gradients those of the loss, [CLS] the pooler's result") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 1, o.accumulate = 1, o.record = 1;
  const RunResult result = recorded(world, o, "run");
  const auto first = of_step(world.path("run/sites.csv"), "0"),
             last = of_step(world.path("run/sites.csv"), std::to_string(result.steps - 1));
  const std::string norm = "bert.encoder.layer.0.output.LayerNorm";
  CHECK(first.at(norm).at("|γ-γ_0|") == 0);
  CHECK(first.at(norm).at("|γ_t| of sst") == 0);
  CHECK(last.at(norm).at("|γ-γ_0|") > 0);
  CHECK(last.at(norm).at("|γ_t| of sst") > 0);
  CHECK(first.at(norm).at("|dL/dx|") > 0);
  CHECK(first.at(norm).at("deviation of x") > 0);
  CHECK(first.at("[CLS]").at("EV_1") <= first.at("[CLS]").at("EV_2"));
  CHECK(first.at("[CLS]").at("EV_3") <= 1 + 1e-6);
  CHECK(first.at("[CLS]").at("small 1-h²") >= 0);
  const auto page = sites_item(world.path("run"));
  REQUIRE(page);
  CHECK(page->json()["figures"].items().size() == 2);
}

TEST_CASE("recorder: the numbers are those of a network that is stepped by hand") {
  const SmallWorld world;
  const TrainedModel start(world.path("start"));
  Model model = Model::from_pretrained(world.path("start"), parse_tasks("sst"));
  Recorder recorder(world.path("hand"), {});
  make_folder(world.path("hand"));
  const Batch batch = pack(std::vector<Sequence>{{{2, 7, 9, 3}, {0, 0, 0, 0}}, {{2, 8, 3}, {0, 0, 0}}});
  model.network.train(false);
  recorder.before_step(0, "sst", model.network, model.parameters);
  const Tensor pooled = model.network.bert().pooled(batch, Pool::pooler);
  backward(cross_entropy(model.network.logits(pooled, 0), {1, 4}));
  recorder.after_backward();
  const auto values = of_step(world.path("hand/sites.csv"), "0");

  double small = 0;
  const std::vector<real> h = pooled.values();
  for (const real x : h) small += 1 - double(x) * double(x) < 0.1;
  CHECK(values.at("[CLS]").at("small 1-h²") == doctest::Approx(small / double(h.size())));
  CHECK(values.at("[CLS]").at("EV_1") == doctest::Approx(1));       // two rows have one direction
  // L as a function of the input of the last norm, along its own gradient: |dL/dx|² is the slope there
  const std::string norm = "bert.encoder.layer.0.output.LayerNorm";
  CHECK(values.at(norm).contains("|dL/dx|"));
  CHECK_FALSE(values.at(norm).contains("|γ_t| of sst"));
}

TEST_CASE("recorder: an observer of one's own sees every operation of a step, and its gradient") {
  const SmallWorld world;
  const Quiet quiet;
  TrainOptions o = world.options();
  o.out = world.path("own"), o.norm = "conditional-layer", o.epochs = 1, o.record = 5;
  Gradients gradients;
  train(Experiment(o), o, o.out, 0, false, &gradients);
  for (const char* line : {"bert.encoder.layer.0.output.LayerNorm layer_norm ", "bert.pooler.dense linear "})
    CHECK(contains(quiet.text(), line));
}

}  // namespace minbert::test
