// Task adaptation's items from beginning to end, on a model and tasks so small that they take seconds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "error_of.h"
#include "gradcheck.h"
#include "papers/encoded_set.h"
#include "report/long_table.h"
#include "papers/ta/task_adaptation.h"
#include "papers/small_study.h"
#include "renamed.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

TaOptions small_options(const SmallWorld& world) {
  TaOptions o = small_study<TaOptions>(world, "sst2,qnli,stsb");
  o.epochs = 2;
  o.lr = 1e-2;
  o.batch = 8;
  o.eps = {1e-5, 1};
  o.perplexity = 5;
  o.iterations = 100;
  o.head_epochs = 2;
  o.record = 2;
  return o;
}

int run_items(const TaOptions& o) {
  Document document(o, "task-adaptation");
  return document.run(ta_items(document, o));
}

// The rows of a CSV file, without its head.
Checked<Checked<std::string>> cells_of(const std::string& file) {
  Checked<Checked<std::string>> rows = csv(file);
  rows.erase(rows.begin());
  return rows;
}

}  // namespace

TEST_CASE("task_adaptation: [CLS] of every layer is that of a model that ends there") {
  const BertConfig two_layers = tiny_config("layer", 16);
  BertConfig one_layer = two_layers;
  one_layer.num_hidden_layers = 1;
  BertModel bert(two_layers), shorter(one_layer);
  Parameters parameters(bert, {}), of_shorter(shorter, {});
  bert.train(false);
  shorter.train(false);
  randomise(parameters);
  for (const Parameter& item : of_shorter.items())
    item.value.copy_from(parameters.value(item.name).values());
  const Batch batch = pack(sentences({5, 1, 17}));
  const std::vector<Tensor> layers = cls_of_layers(bert, batch);
  REQUIRE(layers.size() == 3);                      // the embeddings, and two layers
  const Tensor embeddings = bert.embeddings().forward(batch);
  CHECK(layers[0].values() == index_select(embeddings, {0, 5, 6}).values());
  const double rounding = tolerance(1e-6, 1e-14);
  CHECK(difference(layers[1].values(), shorter.forward(batch).cls.values()) < rounding);
  CHECK(difference(layers[2].values(), bert.forward(batch).cls.values()) < rounding);
  CHECK(difference(layers[1].values(), layers[2].values()) > 0.01);
}

TEST_CASE("task_adaptation: all items of a small model leave their tables, and are not computed twice") {
  const SmallWorld world;
  for (const char* name : {"SST-2", "QNLI", "STS-B"}) write_glue(world, name);
  const Quiet quiet;
  const TaOptions o = small_options(world);
  REQUIRE(run_items(o) == 0);
  const Json report = Json::load(world.path("study/report.json"));
  for (const Json& item : report["items"].items()) CHECK(item["status"].string() == "run");
  const size_t H = 8, layers = 2;
  CHECK(rows_of(world, "sec1") == 2 * 2 * 2);               // tasks without QNLI, methods, seeds
  CHECK(rows_of(world, "sec1-weights") == 2 * 2 * layers);
  CHECK(rows_of(world, "fig1") == 3 * 24);
  CHECK(rows_of(world, "fig2") == 3 * H);
  CHECK(rows_of(world, "eq1") == 3 * H);
  CHECK(rows_of(world, "fig3") == 2 * H);                   // a regression has no Fisher score
  CHECK(rows_of(world, "tab1") == 2 * 6 * 2);               // SST-2 and STS-B, methods, seeds
  CHECK(rows_of(world, "tab2") == 6 * 2);                   // QNLI
  CHECK(rows_of(world, "learning") == 2 * 6 * 2 * 2);       // as tab1, start and end
  CHECK(value_in(world, "learning", {"stsb", "l2", "end", "11711"}) ==
        doctest::Approx(recorded_end(world, "stsb-l2-seed11711", "[CLS]", "small 1-h²")).epsilon(1e-5));
  CHECK(rows_of(world, "sec5.2") == 2 * 2 * (1 + 2 * 2));   // none once, z and min-max for each eps

  // A claim is judged over both seeds, though the best epochs of its two methods need not be the same.
  size_t judged = 0;
  for (const Json& claim : item_of(report, "tab1")["claims"].items())
    if (claim["where"].string() == "tab.1" && contains(claim["text"].string(), "SST-2")) {
      // Where the tiny model gives every input the same answer, the seed is named.
      const std::string why = claim["why"].string();
      CHECK((contains(why, "2 seeds, too few to tell: mean difference ") ||
             contains(why, "the same answer: seed 1171")));
      CHECK(claim["verdict"].string() == "undecided");
      ++judged;
    }
  CHECK(judged == 5);

  // What is measured on rows is judged by rows drawn again.
  size_t measured = 0;
  for (const char* name : {"fig2", "fig3"})
    for (const Json& claim : item_of(report, name)["claims"].items())
      measured += contains(claim["why"].string(), ", over rows drawn again; of ");
  CHECK(measured == 1 + 3);                         // of fig.3 SST-2's, QNLI's and that of all
  for (const char* name : {"fig1", "fig2", "fig3"})
    CHECK(contains(item_of(report, name)["caption"].string(), formatted("by {} drawings of the rows", o.resamples())));

  // The learned weights of the layers are a softmax.
  double sum = 0;
  for (const auto& row : cells_of(world.path("study/sec1-weights.csv"))) sum += std::stod(row.back());
  CHECK(sum == doctest::Approx(2 * 2).epsilon(1e-5));

  // fig.2 is what the model's own h^l says.
  EncodedSet encoded(o, parse_tasks("qnli")[0], Split::train, ClsPlace::pooled);
  std::vector<double> mean(H);
  encoded.for_each_batch(encoded.all(), [&](const Batch& batch, std::span<const int32_t>) {
    const std::vector<real> values = encoded.bert().forward(batch, cls_rows).cls.values();
    for (size_t k = 0; k < values.size(); ++k) mean[k % H] += double(values[k]) / 24;
  });
  for (const auto& row : cells_of(world.path("study/fig2.csv")))
    if (row[0] == "qnli") CHECK(std::stod(row[2]) == doctest::Approx(mean[size_t(std::stoi(row[1]))]).epsilon(1e-5));

  // fig.3 stands in the order of the Fisher scores.
  double before = 1e30;
  for (const auto& row : cells_of(world.path("study/fig3.csv")))
    if (row[0] == "sst2") {
      CHECK(std::stod(row[3]) <= before);
      before = std::stod(row[3]);
    }

  // sec.3.3: the dimension that varies most, among them by score
  Checked<Checked<std::string>> ranked = cells_of(world.path("study/fig3.csv"));
  std::erase_if(ranked, [](const auto& row) { return row[0] != "sst2"; });
  REQUIRE(ranked.size() == H);
  size_t most = 0;
  for (size_t i = 0; i < H; ++i)
    if (std::stod(ranked[i][4]) > std::stod(ranked[most][4])) most = i;
  double next = 0;
  for (size_t i = 0; i < H; ++i)
    if (i != most) next = std::max(next, std::stod(ranked[i][4]));
  const auto of_sst2 = [&](size_t row) {
    return item_of(report, "fig3")["tables"].items()[0]["rows"].items()[row]["cells"].items()[0];
  };
  CHECK(of_sst2(2)["printed"].string() == "2");             // the document's type
  CHECK(of_sst2(3)["ours"].string() == (most == 0 ? "100.0 %" : "0.0 %"));   // a tenth of 8: one dimension
  CHECK(std::stod(of_sst2(4)["ours"].string()) ==
        doctest::Approx(std::pow(std::stod(ranked[most][4]) / next, 2)).epsilon(0.005));
  CHECK(of_sst2(5)["ours"].string() == std::to_string(most + 1));

  // sec.3.1: the tape's gradients are the closed form's.
  size_t compared = 0;
  for (const auto& row : cells_of(world.path("study/sec3.1.csv")))
    if (row[1] == "closed form against tape") {
      CHECK(std::stod(row[3]) < 1e-5);
      ++compared;
    }
  CHECK(compared == 2 * 4);

  const size_t folders = run_folders(world);
  REQUIRE(run_items(o) == 0);
  CHECK(contains(quiet.text(), formatted("{} of {} runs are done already", folders, folders)));
}

TEST_CASE("task_adaptation: on the tape, embedding normalization changes forward and backward, gradient "
          "normalization the gradient before it alone [TA fig.4]") {
  const SmallWorld world;
  write_glue(world);
  const Quiet quiet;
  TaOptions o = small_options(world);
  o.tasks = "sst2";
  o.items = {"fig4"};
  for (const ClsPlace place : {ClsPlace::pre_pooler, ClsPlace::pooled}) {
    o.cls_norm_at = place;
    REQUIRE(run_items(o) == 0);
    std::map<std::string, std::vector<double>> change;                     // method + direction: of each operation
    std::map<std::string, std::vector<std::string>> operations;
    for (const auto& row : cells_of(world.path("study/fig4.csv"))) {
      change[row[1] + " " + row[5]].push_back(std::stod(row[6]));
      if (row[5] == "forward") operations[row[1]].push_back(row[3]);
    }
    for (const double c : change["none forward"]) CHECK(c == 0);
    for (const double c : change["none backward"]) CHECK(c == 0);
    const auto place_of = [&](const char* method, const char* operation) {
      return size_t(std::ranges::find(operations[method], operation) - operations[method].begin());
    };
    const size_t normalized = place_of("gradient-1", "normalize_gradient");
    REQUIRE(normalized < operations["gradient-1"].size());
    for (const double c : change["gradient-1 forward"]) CHECK(c == 0);
    for (size_t i = 0; i < operations["gradient-1"].size(); ++i)
      CHECK((change["gradient-1 backward"][i] > 1e-3) == (i < normalized));
    const size_t divided = place_of("l2", "div");
    REQUIRE(divided < operations["l2"].size());
    for (size_t i = 0; i + 1 < operations["l2"].size(); ++i) {
      CHECK((change["l2 forward"][i] > 1e-3) == (i >= divided));
      CHECK(change["l2 backward"][i] > 1e-5);
    }
    const Json item = item_of(Json::load(world.path("study/report.json")), "fig4");
    const auto unequal = [&](size_t row) {              // of strength 0, .5, 1 [TA sec.4.3]
      return std::stod(item["tables"].items()[0]["rows"].items()[row]["cells"].items()[0]["ours"].string());
    };
    CHECK(unequal(0) > unequal(1));
    CHECK(unequal(1) > 0.05);
    CHECK(unequal(2) < 1e-3);
    for (const Json& claim : item["claims"].items()) {
      CAPTURE(claim["text"].string());
      CHECK(claim["verdict"].string() == "so");
    }
    const std::string svg = read_file(world.path("study/fig4.svg"));
    CHECK(contains(svg, "normalize_gradient"));
    std::filesystem::remove_all(world.path("study"));
  }
}

TEST_CASE("task_adaptation: data that is missing or says nothing is named, and the rest is done") {
  const SmallWorld world;
  write_glue(world);
  const Quiet quiet;
  TaOptions o = small_options(world);
  o.items = {"fig2", "eq1", "fig3"};
  REQUIRE(run_items(o) == 0);                       // QNLI and STS-B have no files
  CHECK(contains(quiet.text(), "without QNLI, STS-B: no files of it in"));
  const Json report = Json::load(world.path("study/report.json"));
  CHECK(item_of(report, "tab2")["why"].string() == "none of its tasks is there");
  CHECK(rows_of(world, "fig2") == 8);

  o.tasks_given = true;                             // who asks for QNLI is told
  CHECK_ERROR(run_items(o), "QNLI");
  o.tasks_given = false;
  o.tasks = "mrpc,rte";
  CHECK_ERROR(run_items(o), "has files of none of these tasks: mrpc,rte");

  o = small_options(world);                         // a class alone
  std::string rows = "sentence\tlabel\n";
  for (int i = 0; i < 20; ++i) rows += "good film\t1\n";
  write_file(world.path("glue/SST-2/train.tsv"), rows);
  o.tasks = "sst2";
  o.items = {"eq1", "fig3"};
  o.out = world.path("one-class");
  REQUIRE(run_items(o) == 0);
  CHECK(contains(item_of(Json::load(world.path("one-class/report.json")), "eq1").dump(),
                 "the rows that were read are of one class"));
  CHECK(cells_of(world.path("one-class/fig3.csv")).empty());
}

TEST_CASE("task_adaptation: too few points for t-SNE, a NaN in [CLS] and a missing NSP head are said") {
  const SmallWorld world;
  write_glue(world);
  const Quiet quiet;
  TaOptions o = small_options(world);
  o.tasks = "sst2";
  o.items = {"fig1"};
  o.perplexity = 30;
  CHECK_ERROR(run_items(o), "--perplexity");
  o.perplexity = 5;
  REQUIRE(run_items(o) == 0);                       // start/ has no NSP head
  CHECK(contains(item_of(Json::load(world.path("study/report.json")), "fig1").dump(), "not run: no NSP head"));
  o.points = 18;                                    // a stratified sample: 9 of each class
  o.out = world.path("sample");
  REQUIRE(run_items(o) == 0);
  const auto rows = cells_of(world.path("sample/fig1.csv"));
  REQUIRE(rows.size() == 18);
  CHECK(std::ranges::count_if(rows, [&](const auto& row) { return row[2] == rows[0][2]; }) == 9);

  const std::string file = world.path("start/model.safetensors");
#ifndef MINBERT_DOUBLE                              // where it does not overflow
  Renamed large(file, [](const std::string& name) { return name; });
  for (auto& [name, values] : large.values)
    if (contains(name, "output.LayerNorm.")) values[0] = real(3e38);
  large.writer.write(file);
  o.out = world.path("overflow");
  o.items = {"fig2"};
  const std::string error = error_of([&] { run_items(o); });
  CHECK(contains(error, "train.tsv: [CLS] of example "));
  CAPTURE(error);
  CHECK(contains(error, " in dimension 0; are the model's weights damaged?"));
#endif
  Renamed(file, [](const std::string& name) { return contains(name, "pooler.dense.bias") ? "" : name; })
      .writer.write(file);
  o.out = world.path("no-pooler");
  o.items = {"fig2"};
  CHECK_ERROR(run_items(o), "has no trained pooler");
}

}  // namespace minbert::test
