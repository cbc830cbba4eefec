// The comparison of norms: its table, and what its columns mean.
#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "error_of.h"
#include "runs/comparison.h"
#include "small_run.h"

namespace minbert::test {

TEST_CASE("norms: the first gradient is what one step of plain gradient descent walks along") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.optimizer = OptimizerKind::sgd, o.lr = 0.25, o.weight_decay = o.warmup = o.clip = 0;
  o.schedule = Schedule::constant;
  const RunResult stopped = world.run(o, "one-step", 1);
  o.epochs = 0;
  world.run(o, "initial");
  const Weights after = weights_in(world.path("one-step/state.safetensors"));
  double squares = 0;
  for (const auto& [name, from] : weights(world.path("initial")))
    for (size_t i = 0; i < from.size(); ++i) squares += std::pow(double(after.at(name)[i] - from[i]), 2);
  CHECK(stopped.first_gradient > 0.1);
  CHECK(std::sqrt(squares) == doctest::Approx(0.25 * stopped.first_gradient).epsilon(1e-4));

  o.epochs = 2;                                     // known from the first step on, also when the run goes on later
  CHECK(world.run(o, "one-step").first_gradient == doctest::Approx(stopped.first_gradient));
}

TEST_CASE("norms: lists stand for every one with every other, each with a name of its own") {
  const std::vector<Variant> all = norm_variants({{"layer", "rms"}, {"post", "pre"}, {"none", "z"}, {0, 0.5}}, true);
  std::set<std::string> labels;
  for (const Variant& v : all) {
    labels.insert(v.label);
    CHECK(v.from_scratch);
  }
  REQUIRE(labels.size() == 16);
  CHECK(labels.count("layer-post"));
  CHECK(labels.count("rms-z-gradient-0.5-pre"));
  CHECK(all[0].label == "layer-post");
  CHECK(all[1].grad_norm == 0.5);
}

TEST_CASE("norms: a line for every variant, with the step from which ten losses are low, and curves for each") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = o.seeds = 2, o.batch = o.accumulate = 1;
  const std::vector<Variant> variants = {{"layer-post", "layer"}, {"rms-pre", "rms", Placement::pre, "z", 0.5}};
  const auto table = [&](const std::string& out, double to_loss) {
    o.out = world.path(out);
    const Quiet quiet;
    CHECK(compare_norms(Experiment(o), variants, no_command_line(), to_loss) == 0);
    std::vector<std::vector<std::string>> rows;     // the last three lines, at two blanks and more
    std::istringstream lines(quiet.text().substr(quiet.text().find("\nnorm ") + 1));
    for (std::string line; std::getline(lines, line) && rows.size() < 3;) {
      rows.emplace_back();
      for (size_t at = 0, end; at < line.size(); at = line.find_first_not_of(' ', end)) {
        end = std::min(line.find("  ", at), line.size());
        rows.back().push_back(line.substr(at, end - at));
      }
    }
    return rows;
  };
  const auto high = table("high", 50), low = table("low", 0);
  for (const auto& rows : {high, low}) {
    REQUIRE(rows.size() == 3);
    for (const auto& row : rows) REQUIRE(row.size() == 10);
  }
  CHECK(high[0][7] == "steps to SST loss 50");
  CHECK(std::vector(high[1].begin(), high[1].begin() + 4) == std::vector<std::string>{"layer", "post", "none", "-"});
  CHECK(std::vector(high[2].begin(), high[2].begin() + 4) == std::vector<std::string>{"rms", "pre", "z", "0.5"});
  for (const size_t row : {1, 2}) {
    CHECK(contains(high[row][4], " ± "));
    CHECK(high[row][7] == "10 ± 0");                // SST comes first, a step a row
    CHECK(low[row][7] == "never");
    CHECK(std::stod(high[row][8]) > 0);
    CHECK(std::stod(high[row][9]) > 0);
  }
  CHECK(high[1][8] != high[2][8]);
  std::set<std::string> curves;
  for (const auto& row : csv(world.path("high/figures/norms.csv"))) curves.insert(row[0] + ": " + row[1]);
  for (const std::string curve : {"SST (post): layer", "STS (post): layer", "Quora (pre): rms-z-gradient-0.5"})
    CHECK(curves.count(curve));
  CHECK_FALSE(curves.count("SST (pre): layer"));
  // Again with a seed more: the runs that are there are not done again.
  const auto before = std::filesystem::last_write_time(world.path("high/layer-post/seed-11711/done.json"));
  o.seeds = 3;
  o.resume = true;
  CHECK(table("high", 50)[1][8] != "");
  CHECK(std::filesystem::last_write_time(world.path("high/layer-post/seed-11711/done.json")) == before);
  CHECK(std::filesystem::exists(world.path("high/rms-pre/seed-11713/done.json")));
  CHECK(BertConfig::load(world.path("high/rms-pre/seed-11711/model/config.json")).cls_norm == "z");
}

}  // namespace minbert::test
