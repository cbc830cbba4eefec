// The document of conditional LayerNorm: its items from trainings of a small model.
#include <doctest/doctest.h>

#include "error_of.h"
#include "minbert/files.h"
#include "papers/cln/cln.h"
#include "papers/small_study.h"

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
  for (const Json& item : report["items"].items()) CHECK(item["status"].string() == "run");
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
  const Json result = ClnRuns{document, o}.result("conditional-layer", 11711);
  const auto by_epoch = result["epochs"]["sst_gamma"].numbers();
  REQUIRE(by_epoch.size() == 3);
  CHECK(sum / count == doctest::Approx(by_epoch[size_t(result["epoch"].integer()) - 1]).epsilon(1e-5));

  // What a task loses: its loss in the last tenth of its batches of an epoch, then in the first tenth of the next.
  const std::string folder = document.folder(ClnRuns{document, o}.training("layer", 11711));
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

  ClnOptions one = o;
  one.epochs = 1, one.items = {"forgetting"}, one.out = world.path("one");
  REQUIRE(run_items(one) == 0);
  CHECK(contains(read_file(one.out + "/report.json"), "needs two epochs"));
  CHECK(!std::filesystem::exists(one.out + "/forgetting.csv"));
}

}  // namespace minbert::test
