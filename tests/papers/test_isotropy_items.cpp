// IsoBN's items from beginning to end, on a model and a task so small that they take seconds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cls_set.h"
#include "error_of.h"
#include "papers/encoded_set.h"
#include "papers/isobn/isobn.h"
#include "papers/isobn/isotropy.h"
#include "papers/small_study.h"
#include "renamed.h"

namespace minbert::test {
namespace {

IsoBnOptions small_options(const SmallWorld& world) {
  IsoBnOptions o = small_study<IsoBnOptions>(world, "sst2");
  o.lr = {1e-3, 1e-2};
  return o;
}

int run_items(const IsoBnOptions& o) {
  Document document(o, "isobn");
  std::vector<Item> items = isobn_cls_items(document, o);
  for (Item& item : isobn_tuning_items(document, o)) items.push_back(std::move(item));
  return document.run(items);
}

}  // namespace

TEST_CASE("papers: differences are paired by seed, and undefined where a run has collapsed") {
  const SmallWorld world;
  LongTable sound({"task", "norm", "seed", "score"});
  for (const int seed : {1, 2, 3}) {
    sound("sst2", "none", seed) = 0.1 * seed, sound("sst2", "batch", 4 - seed) = 0.1 * (4 - seed) + 0.02;
    sound("qnli", "none", seed) = finite(seed == 1 ? NAN : 0.5);     // each lacks another seed
    sound("qnli", "batch", seed) = finite(seed == 2 ? NAN : 0.7);
  }
  ItemReport report(world.path(""), LongTable({"value"}), Json::object({{"name", "tab1"}}));
  report.judge_by(sound, {100, 2, "%"});
  show_differences(report, sound, "norm", {"batch"}, dev_sets(parse_tasks("sst2,qnli")));
  const auto cells = report.json()["tables"].items()[0]["rows"].items()[0]["cells"].items();
  CHECK(cells[0]["ours"].string() == "2.00");
  CHECK(cells[0]["note"].string() == "p 0.250 (least 0.250)");
  CHECK(contains(cells[1]["note"].string(), "2 of 3 values are undefined"));
}

TEST_CASE("isotropy: the items of a small model leave tables, values and verdicts, and are not computed twice") {
  const SmallWorld world;
  write_glue(world);
  const Quiet quiet;
  IsoBnOptions o = small_options(world);
  REQUIRE(run_items(o) == 0);
  const Json report = Json::load(world.path("study/report.json"));
  const size_t H = 8;
  CHECK(rows_of(world, "fig1") == H);
  CHECK(rows_of(world, "sec2.1") == H);
  CHECK(rows_of(world, "sec2.2") == 4);
  CHECK(rows_of(world, "fig2") == H * H);
  CHECK(rows_of(world, "fig3") == 3 * H * H);
  CHECK(rows_of(world, "tab2") == 4 * 3);
  CHECK(rows_of(world, "alg1") == 5 * 3);
  CHECK(rows_of(world, "fig4") == 3 * H);
  CHECK(rows_of(world, "tab1") == 2 * 3 * 2);           // 2 rates, 3 norms, 2 seeds
  CHECK(rows_of(world, "tab1-best") == 3 * 2);
  CHECK(rows_of(world, "sec3.3") == 5 * 2);             // none, eq5, 3 strengths; 2 seeds
  CHECK(contains(read_file(world.path("study/report.html")), "id=\"tab2\""));

  // fig.1 and tab.2 are what the model's own [CLS] says.
  EncodedSet encoded(o, parse_tasks("sst2")[0], Split::train, Pooler::needed);
  std::vector<real> all;
  encoded.for_each_batch([&](const Batch& batch, std::span<const int32_t>) {
    const std::vector<real> values = encoded.bert().forward(batch, cls_rows).pooler_output.values();
    all.insert(all.end(), values.begin(), values.end());
  });
  const Vector Sigma = covariance_of(Tensor::from({24, int64_t(H)}, all)), ev = explained_variance(Sigma);
  CHECK(value_in(world, "fig1", {"sst2", "3"}) ==
        doctest::Approx(std::sqrt(Sigma[3 * H + 3])).epsilon(1e-5));
  CHECK(value_in(world, "tab2", {"sst2", "none", "2"}) == doctest::Approx(ev[1]).epsilon(1e-5));

  // eq.5 leaves each dimension a deviation of 1/γ.
  Vector left;
  const Vector rho = pearson_matrix(Sigma);
  for (size_t i = 0; i < H; ++i) {
    double gamma = 0;
    for (size_t j = 0; j < H; ++j) gamma += rho[i * H + j] * rho[i * H + j];
    left.push_back(1 / gamma);
  }
  CHECK(value_in(world, "eq5-scale", {"sst2", "deviation of (h-μ)/(σγ)"}) ==
        doctest::Approx(median(left)).epsilon(1e-5));
  const Json sec33 = item_of(report, "sec3.3");
  CHECK(contains(sec33["caption"].string(), "the share of the largest class: SST-2 (accuracy) 0.50"));
  CHECK(contains(sec33.dump(), "none is unbalanced"));
  CHECK(sec33["claims"].items()[0]["verdict"].string() == "not run");
  CHECK(item_of(report, "sec2.1")["claims"].items()[0]["why"].string() == "it is about RoBERTa-large");

  // One batch of 24: the first batch starts ours as the set's statistics, and the others' start of 0 shows.
  const auto ev1 = [&](const char* norm) { return value_in(world, "alg1", {"sst2", norm, "1"}); };
  CHECK(ev1("ours") == doctest::Approx(ev1("iso-bn")).epsilon(1e-4));
  CHECK(ev1("authors") != doctest::Approx(ev1("iso-bn")).epsilon(1e-3));

  // Nothing is trained for it: a fact of this task, or none.
  for (const Json& claim : item_of(report, "tab2")["claims"].items()) {
    const std::string word = claim["verdict"].string();
    INFO(claim["text"].string() << ": " << word);
    CHECK((word == "not comparable" || word == "as printed" || word == "not as printed"));
    if (word != "not comparable") CHECK(contains(claim["why"].string(), "of 1 pair of values, difference "));
  }

  // Again: nothing is computed, and the values are the same. With a seed more: what is new.
  const std::string before = read_file(world.path("study/tab1.csv"));
  const size_t folders = run_folders(world);
  // [CLS], yardsticks, fine-tunings; of sec.3.3's five settings tab.1 has two
  CHECK(folders == 1 + 1 + 2 * 3 * 2 + 3 * 2);
  REQUIRE(run_items(o) == 0);
  CHECK(contains(quiet.text(), formatted("{} of {} runs are done already", folders, folders)));
  CHECK(read_file(world.path("study/tab1.csv")) == before);
  CHECK(run_folders(world) == folders);
  o.seeds = 3;
  REQUIRE(run_items(o) == 0);
  CHECK(run_folders(world) == folders + 2 * 3 + 3);
  std::istringstream lines(before);
  const std::string wider = read_file(world.path("study/tab1.csv"));
  for (std::string row; std::getline(lines, row);) CHECK(contains(wider, row + "\n"));
}

TEST_CASE("isotropy: an item that does not exist is named with those that do; the others are said to be not run") {
  const SmallWorld world;
  write_glue(world);
  const Quiet quiet;
  IsoBnOptions o = small_options(world);
  o.items = {"tab9"};
  CHECK_ERROR(run_items(o), "item: there is no \"tab9\"; valid are: sec2.1, fig1");
  o.items = {"tab2"};
  REQUIRE(run_items(o) == 0);
  const Json report = Json::load(world.path("study/report.json"));
  CHECK(item_of(report, "tab2")["status"].string() == "run");
  CHECK(item_of(report, "tab1")["status"].string() == "not run");
  CHECK(item_of(report, "tab1")["claims"].items()[0]["verdict"].string() == "not run");
}

TEST_CASE("isotropy: a model that was trained on tasks, with conditional LayerNorm, is measured as any other") {
  const SmallWorld world;
  write_glue(world);
  const Quiet quiet;
  TrainOptions trained = world.options();
  trained.norm = "conditional-layer";
  trained.epochs = 0;
  trained.out = world.path("trained");
  train(Experiment(trained), trained, trained.out);
  IsoBnOptions o = small_options(world);
  o.model = world.path("trained");
  o.items = {"tab2"};
  CHECK(run_items(o) == 0);
}

TEST_CASE("isotropy: one sentence, and a model without a pooler, are errors that say what to do") {
  const SmallWorld world;
  write_glue(world);
  const Quiet quiet;
  IsoBnOptions o = small_options(world);
  o.items = {"tab2"};
  o.limit = 1;
  CHECK_ERROR(run_items(o), "one sentence has no correlations; expected 2 or more");

  o = small_options(world);
  o.items = {"tab2"};
  o.out = world.path("study-2");
  const std::string file = world.path("start/model.safetensors");
  Renamed(file, [](const std::string& name) { return contains(name, "pooler") ? "" : name; }).writer.write(file);
  CHECK_ERROR(run_items(o), "has no trained pooler");
  o.cls_norm_at = ClsPlace::pre_pooler;
  CHECK(run_items(o) == 0);
}

}  // namespace minbert::test
