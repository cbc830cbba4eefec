// IsoBN's items from beginning to end, on a model and a task so small that they take seconds.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "cls_set.h"
#include "engine/text.h"
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
  o.record = 2;
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
  CHECK(cells[1]["ours"].string() == "20.00");
  CHECK(cells[1]["note"].string() == "p 1.000 (least 1.000)");      // of the one seed that both have
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
  CHECK(rows_of(world, "sec2.2") == 3);
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
  EncodedSet encoded(o, parse_tasks("sst2")[0], Split::train, ClsPlace::pooled);
  std::vector<real> all;
  encoded.for_each_batch(encoded.all(), [&](const Batch& batch, std::span<const int32_t>) {
    const std::vector<real> values = encoded.bert().forward(batch, cls_rows).pooler_output.values();
    all.insert(all.end(), values.begin(), values.end());
  });
  const Vector Sigma = covariance_of(Tensor::from({24, int64_t(H)}, all)), ev = explained_variance(Sigma);
  CHECK(value_in(world, "fig1", {"sst2", "3"}) ==
        doctest::Approx(std::sqrt(Sigma[3 * H + 3])).epsilon(1e-5));
  CHECK(value_in(world, "tab2", {"sst2", "none", "2"}) == doctest::Approx(ev[1]).epsilon(1e-5));

  double alike = 0, pairs = 0;                      // |rho| above .8, without a dimension's own 1
  const Vector rho = pearson_matrix(Sigma);
  for (size_t i = 0; i < H; ++i) {
    int others = 0;
    for (size_t j = 0; j < H; ++j) others += i != j && std::abs(rho[i * H + j]) > 0.8;
    alike += others >= 2, pairs += others;
  }
  CHECK(value_in(world, "sec2.2", {"sst2", "dimensions"}) == alike);
  CHECK(value_in(world, "sec2.2", {"sst2", "pairs"}) == doctest::Approx(pairs / double(H * (H - 1))));

  // What was recorded of the runs at the middle rate, before the norm reads [CLS]
  CHECK(rows_of(world, "learning") == 2 * 3 * 2 * 2);   // EV_1 and EV_3, norms, start and end, seeds
  CHECK(value_in(world, "learning", {"sst2", "EV_3", "iso-bn", "end", "11712"}) ==
        doctest::Approx(recorded_end(world, formatted("tab1-sst2-iso-bn-lr{}-b{}-beta0.5-seed11712", o.lr[1],
                                                      o.batch[0]), "[CLS]", "EV_3")).epsilon(1e-5));

  // eq.5 leaves each dimension a deviation of 1/γ.
  Vector left;
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

  // What is measured on rows is judged by rows drawn again, and says its values.
  size_t judged = 0;
  for (const char* name : {"eq5", "tab2", "fig4"})
    for (const Json& claim : item_of(report, name)["claims"].items()) {
      const std::string word = claim["verdict"].string();
      if (word == "not comparable") continue;
      INFO(claim["text"].string() << ": " << word);
      CHECK((word == "supported" || word == "contradicted" || word == "undecided"));
      CHECK(contains(claim["why"].string(), ", over rows drawn again; of "));
      ++judged;
    }
  CHECK(judged == 1 + 7 + 2);
  CHECK(contains(item_of(report, "tab2")["claims"].items()[0]["why"].string(), "; printed 0.375, ours "));
  const auto of_eq5 = [&](const char* what) { return fixed(value_in(world, "eq5-scale", {"sst2", what}), 4); };
  const Json::Array eq5 = item_of(report, "eq5")["claims"].items();
  CHECK(eq5[0]["verdict"].string() == "not comparable");
  CHECK(contains(eq5[1]["why"].string(),
                 formatted("; of {} and {}", of_eq5("deviation of h"), of_eq5("deviation of (h-μ)/(σγ)"))));
  for (const char* name : {"sec2.1", "sec2.2", "eq5", "tab2", "fig4"})
    CHECK(contains(item_of(report, name)["caption"].string(), formatted("by {} drawings of the rows", o.resamples())));

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

TEST_CASE("isotropy: a norm's setting is chosen on one half of the dev rows and judged on the other [IsoBN tab.1]") {
  const SmallWorld world;
  write_glue(world);
  const Quiet quiet;
  IsoBnOptions o = small_options(world);
  o.items = {"tab1"};
  o.lr = {1e-4, 1e-3, 1e-2, 3e-2};
  REQUIRE(run_items(o) == 0);
  const std::string whole = "sst2_accuracy";
  std::map<std::string, std::map<std::string, std::array<Numbers, 3>>> scores;         // norm, lr: all, first, second
  for (const auto& folder : std::filesystem::directory_iterator(world.path("study/runs"))) {
    const std::string name = folder.path().filename().string();
    if (!name.starts_with("tab1-")) continue;
    const Json result = Json::load(folder.path().string() + "/done.json")["result"];
    const double first = result["first half"][whole].number(), second = result["second half"][whole].number();
    CHECK(result[whole].number() == doctest::Approx((first + second) / 2));      // each half has 4 of 8 rows
    for (const char* norm : {"none", "batch", "iso-bn"})
      for (const double lr : o.lr)
        if (const std::string lr_text = formatted("lr{}", lr); contains(name,
                                                                        formatted("sst2-{}-{}-", norm, lr_text))) {
          auto& of_setting = scores[norm][lr_text];
          of_setting[0].push_back(result[whole].number()), of_setting[1].push_back(first);
          of_setting[2].push_back(second);
        }
  }
  for (const char* norm : {"none", "batch", "iso-bn"}) {
    INFO(norm);
    REQUIRE(scores[norm].size() == 4);
    double chosen = -1;
    for (const auto& [lr, of_setting] : scores[norm]) chosen = std::max(chosen, median(of_setting[1]));
    bool is_one = false;                            // one of those that are best on the first half
    const auto mean_in = [&](const char* name) {
      return (value_in(world, name, {"sst2", norm, "11711"}) + value_in(world, name, {"sst2", norm, "11712"})) / 2;
    };
    for (const auto& [lr, of_setting] : scores[norm])
      if (median(of_setting[1]) == chosen)
        is_one |= std::abs(mean_in("tab1-best") - 100 * summarize(of_setting[0]).mean) < 1e-6 &&
                  std::abs(mean_in("tab1-judged") - 100 * summarize(of_setting[2]).mean) < 1e-6;
    CHECK(is_one);
  }
  const auto says_it = [&] {
    return contains(item_of(Json::load(world.path("study/report.json")), "tab1").dump(), "one half of the dev rows");
  };
  CHECK(says_it());
  o.lr = {1e-3};                                    // nothing to choose: all rows judge
  REQUIRE(run_items(o) == 0);
  CHECK_FALSE(says_it());
  CHECK(read_file(world.path("study/tab1-judged.csv")) == read_file(world.path("study/tab1-best.csv")));
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
