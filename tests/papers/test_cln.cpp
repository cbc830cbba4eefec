// The document of conditional LayerNorm: its items from trainings of a small model.
#include <doctest/doctest.h>

#include "error_of.h"
#include "minbert/files.h"
#include "papers/cln/cln.h"
#include "papers/small_study.h"
#include "report/curves.h"

namespace minbert::test {
namespace {

ClnOptions small_cln(const SmallWorld& world) {
  ClnOptions o;
  o.model = world.path("start");
  o.data = world.path("data");
  o.out = world.path("study");
  o.tasks = "sst,sts";
  o.max_length = 16;
  o.seeds = 2, o.epochs = 3, o.limit = 0, o.batch = 4;
  o.lr = 1e-3;
  return o;
}
int run_items(const ClnOptions& o) {
  Document document(o, "cln");
  return document.run(cln_items(document, o));
}

}  // namespace

TEST_CASE("conditional_layer_norm: both norms under the same seeds, what they score and what they learn") {
  const SmallWorld world;
  const Quiet quiet;
  const ClnOptions o = small_cln(world);
  REQUIRE(run_items(o) == 0);
  const Json report = Json::load(o.out + "/report.json");
  for (const Json& item : report["items"].items()) {
    const std::string name = item["name"].string();
    const bool by_name = name == "rate" || name == "controls" || name == "turns" || name == "order" ||
                         name == "readings";
    CHECK(item["status"].string() == (by_name ? "not run" : "run"));
  }
  const auto table = [&](const std::string& name) { return csv(o.out + "/" + name + ".csv"); };
  CHECK(table("train").size() == 1 + 2 * 2 * 2);                // tasks, norms, seeds
  CHECK(table("epochs").size() == 1 + 2 * (2 * 2 * 3 + 2 * 3));           // dev of both norms, |gamma| of one
  CHECK(table("forgetting").size() == 1 + 2 * 2 * 2 * 2);

  // The gains are those of the run's own weights, trained again: |gamma_t| by epoch is their mean.
  double sum = 0, count = 0;
  for (const auto& row : table("gains"))
    if (row[0] == "sst" && row[1] == "gamma" && row[4] == "11711") sum += std::stod(row[5]), ++count;
  CHECK(count == 3);                                // the embeddings' norm, two of the layer
  Document document(o, "cln");
  const ClnRuns runs{document, o};
  const Json result = runs.result("conditional-layer", 11711);
  const std::string epochs = document.folder(runs.training("conditional-layer", 11711)) + "/epochs.csv";
  const Numbers by_epoch = CsvTable(epochs).numbers("sst_gamma");
  REQUIRE(by_epoch.size() == 3);
  CHECK(sum / count == doctest::Approx(by_epoch[size_t(result["epoch"].integer()) - 1]).epsilon(1e-5));

  // What a task loses: its loss in the last tenth of its batches of an epoch, then in the first tenth of the next.
  const std::string folder = document.folder(runs.training("layer", 11711));
  std::vector<double> losses;
  for (const auto& row : csv(folder + "/steps.csv"))
    if (row[1] == "sst") losses.push_back(std::stod(row[2]));
  const size_t n = losses.size() / 3;               // of an epoch: a tenth is one batch
  const auto kept = [&](const std::string& when) {
    for (const auto& row : table("forgetting"))
      if (row[0] == "sst" && row[1] == "layer" && row[2] == when && row[3] == "11711") return std::stod(row[4]);
    return -1.0;
  };
  CHECK(kept("before") == doctest::Approx((losses[n - 1] + losses[2 * n - 1]) / 2).epsilon(1e-4));
  CHECK(kept("after") == doctest::Approx((losses[n] + losses[2 * n]) / 2).epsilon(1e-4));

  // A claim about the training set is judged over the seeds, or not at all where a model collapsed.
  for (const Json& claim : item_of(report, "train")["claims"].items())
    if (!contains(claim["text"].string(), "Quora"))
      CHECK((contains(claim["why"].string(), "2 seeds, too few to tell") ||
             contains(claim["why"].string(), "not counted")));
    else CHECK(claim["verdict"].string() == "not run");

  // What is shipped is judged as the study was.
  make_folder(world.path("measured"));
  std::filesystem::copy(o.out + "/measured.csv", world.path("measured/cln.csv"));
  const std::vector<StudyReport> shipped_values = measured_reports(world.path("measured"));
  REQUIRE(shipped_values.size() == 1);
  for (const Json& item : report["items"].items()) {
    const std::string name = item["name"].string();
    INFO(name);
    const Json again = item_of(shipped_values[0].report, name);
    if (item["status"].string() != "run" || item["claims"].items().empty()) continue;
    for (size_t i = 0; i < item["claims"].items().size(); ++i)
      for (const char* key : {"text", "kind", "verdict", "why"})
        CHECK(again["claims"].items()[i][key].string() == item["claims"].items()[i][key].string());
  }

  ClnOptions one = o;
  one.epochs = 1, one.items = {"forgetting"}, one.out = world.path("one");
  REQUIRE(run_items(one) == 0);
  CHECK(contains(read_file(one.out + "/report.json"), "needs two epochs"));
  CHECK(!std::filesystem::exists(one.out + "/forgetting.csv"));
}

TEST_CASE("conditional_layer_norm: the gains are recorded while the tasks take turns") {
  const SmallWorld world;
  const Quiet quiet;
  ClnOptions o = small_cln(world);
  o.record = 2;
  o.items = {"learning"};
  REQUIRE(run_items(o) == 0);
  // Three norms: the lower half is the embeddings', the upper the layer's output.
  const std::string run = "conditional-layer-seed11712";
  CHECK(value_in(world, "learning", {"sts", "lower", "end", "11712"}) ==
        doctest::Approx(recorded_end(world, run, "bert.embeddings.LayerNorm", "|γ_t| of sts")).epsilon(1e-5));
  const double upper = value_in(world, "learning", {"sts", "upper", "end", "11712"});
  CHECK(upper == doctest::Approx(recorded_end(world, run, "bert.encoder.layer.0.output.LayerNorm", "|γ_t| of sts"))
                     .epsilon(1e-5));
  CHECK(upper > 0);
  CHECK(value_in(world, "learning", {"sts", "upper", "start", "11712"}) == 0);

  // Runs that were not recorded are others.
  const size_t folders = run_folders(world);
  o.record = 0;
  REQUIRE(run_items(o) == 0);
  CHECK(run_folders(world) == 2 * folders);
  const Json item = item_of(Json::load(world.path("study/report.json")), "learning");
  CHECK(contains(item["caption"].string(), "--record 0: nothing was recorded"));
  CHECK(item["claims"].items()[0]["verdict"].string() == "not run");
}

TEST_CASE("conditional_layer_norm: the switch scales, moves and removes γ_t and β_t, and leaves the model as it was") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 1, o.rate = "task_weight|task_bias=100";           // so that they say something
  world.run(o, "trained");
  const Experiment experiment(o);
  TrainedModel trained(world.path("trained"));
  const Parameters& parameters = trained.model.parameters;
  const auto all_values = [&] {
    std::map<std::string, std::vector<real>> values;
    for (const Parameter& p : parameters.items()) values[p.name] = p.value.values();
    return values;
  };
  const auto before = all_values();
  const Json all = switched(trained, experiment.data());
  CHECK(all_values() == before);

  // The same by hand: every γ_t and β_t gets new rows, and the scores are those of the whole dev set.
  const auto scores_with = [&](const auto& row_of) {
    for (const Parameter& p : parameters.items()) {
      if (!contains(p.name, ".task_")) continue;
      const size_t H = size_t(p.value.cols()), tasks = size_t(p.value.rows());
      std::vector<real> rows = before.at(p.name);
      for (size_t e = 0; e < rows.size(); ++e) rows[e] = row_of(p.name, before.at(p.name), e, H, tasks);
      p.value.copy_from(rows);
    }
    std::vector<double> found;
    for (const TaskData& d : experiment.data())
      found.push_back(scores_on(d.dev, trained.model.network, d.task)[0].value_or(-9));
    return found;
  };
  const auto said = [&](const std::string& what, double at) {
    for (const Json& one : all.items())
      if (one["what"].string() == what && one["at"].number() == at) {
        std::vector<double> found;
        for (const TaskData& d : experiment.data())
          found.push_back(one[d.task.name][column_name(d.task, measures(d.task)[0])].number_if().value_or(-9));
        return found;
      }
    return std::vector<double>();
  };
  using Values = std::vector<real>;
  const auto times = [](double lambda) {
    return [=](const std::string&, const Values& v, size_t e, size_t, size_t) { return real(lambda * double(v[e])); };
  };
  for (const double lambda : {0.0, 1.0, 8.0}) CHECK(said("λ", lambda) == scores_with(times(lambda)));
  CHECK(said("λ", 0) != said("λ", 16));
  CHECK(said("another task's", 0) == scores_with([](const std::string&, const Values& v, size_t e, size_t H,
                                                    size_t tasks) {
    return v[(e + H) % (H * tasks)];
  }));
  CHECK(said("without", 0) == scores_with([](const std::string& name, const Values& v, size_t e, size_t, size_t) {
    return contains(name, "embeddings") ? real(0) : v[e];
  }));
}

TEST_CASE("conditional_layer_norm: a rate of their own is chosen, trained, and held against controls") {
  const SmallWorld world;
  const Quiet quiet;
  ClnOptions o = small_cln(world);
  o.items = {"rate", "controls", "turns", "order"}, o.factors = {1, 4, 30};
  REQUIRE(run_items(o) == 0);
  const Json report = Json::load(o.out + "/report.json");
  std::map<std::string, std::string> rates;         // by the runs' folders, up to their keys
  for (const auto& run : std::filesystem::directory_iterator(o.out + "/runs")) {
    const std::string folder = run.path().filename().string();
    if (folder.starts_with("yardsticks-")) continue;
    rates[folder.substr(0, folder.rfind('-'))] +=
        Json::load(run.path().string() + "/done.json")["options"]["--rate"].string() + " ";
  }
  CHECK(rates.at("layer-seed11711") == " ");
  CHECK(rates.at("conditional-layer-x4-seed11711").find("task_weight|task_bias=4 ") != std::string::npos);
  CHECK(rates.contains("conditional-layer-x30-seed11711"));
  CHECK(rates.contains("conditional-layer-longer-seed11712"));
  CHECK(rates.contains("layer-round-robin-seed11712"));
  const bool four = rates.contains("conditional-layer-x4-seed11712");         // chosen, and run with both seeds
  CHECK(four != rates.contains("conditional-layer-x30-seed11712"));
  CHECK(contains(rates.at(formatted("layer-x{}-seed11712", four ? 4 : 30)), "LayerNorm[.](weight|bias)$="));
  const std::string table = read_file(o.out + "/controls.csv");
  for (const char* setting : {"γ_t and β_t,sst", "its own γ and β,sst", "\nγ_t,sst", "\nβ_t,sts", "layer longer,sst",
                              "conditional-layer longer,sts"})
    CHECK(contains(table, setting));
  for (const auto& [item, claims] : {std::pair{"turns", 2}, {"order", 1}}) {
    CHECK(item_of(report, item)["claims"].items().size() == size_t(claims));
    for (const Json& claim : item_of(report, item)["claims"].items()) CHECK(claim["verdict"].string() != "not run");
  }
  o.items = {"turns"}, o.factors = {5}, o.out = world.path("given");        // one factor: nothing to choose
  REQUIRE(run_items(o) == 0);
  int runs = 0;
  for (const auto& run : std::filesystem::directory_iterator(o.out + "/runs")) {
    const std::string folder = run.path().filename().string();
    if (folder.starts_with("yardsticks-")) continue;
    CHECK(contains(folder, "round-robin"));
    ++runs;
  }
  CHECK(runs == 3 * o.seeds);
}

TEST_CASE("conditional_layer_norm: other readings of the training leave a row each") {
  const SmallWorld world;
  const Quiet quiet;
  ClnOptions o = small_cln(world);
  o.items = {"readings"}, o.seeds = 1;
  REQUIRE(run_items(o) == 0);
  const auto table = csv(o.out + "/readings.csv");
  REQUIRE(table.size() == 1 + 3 * 2);
  CHECK(table[1][0] == "loop");
  CHECK(table[3][0] == "heads");
  CHECK(table[5][0] == "texts");
  for (const auto& run : std::filesystem::directory_iterator(o.out + "/runs"))      // weights and texts are gone
    for (const char* scratch : {"first", "heads", "texts", "loop", "texts.txt", "model"})
      CHECK_FALSE(std::filesystem::exists(run.path() / scratch));
}

}  // namespace minbert::test
