// LN-PEFT's items from beginning to end on a small model and two small tasks; their parts by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <regex>
#include <set>

#include "engine/text.h"
#include "error_of.h"
#include "minbert/safetensors.h"
#include "papers/lnpeft/lnpeft.h"
#include "papers/small_study.h"
#include "runs/yardsticks.h"
#include "train/cli/train_mode.h"

namespace minbert::test {
namespace {

constexpr size_t H = 8;

// Two tasks, one of them with a test file.
void write_tasks(const SmallWorld& world) {
  for (const char* folder : {"glue/SST-2", "glue/QNLI"}) std::filesystem::create_directories(world.path(folder));
  write_glue(world, "SST-2");
  write_glue(world, "QNLI");
  write_file(world.path("glue/QNLI/test.tsv"), "index\tquestion\tsentence\n0\tgood film\tplot\n1\tbad\tfilm\n");
}

LnPeftOptions small_options(const SmallWorld& world) {
  LnPeftOptions o = small_study<LnPeftOptions>(world, "sst2,qnli");
  o.lr_full = {1e-3, 1e-2};
  o.lr_part = {1e-2};
  o.fraction = {0.1, 1};
  o.fisher_examples = 10;
  std::string corpus;
  for (int document = 0; document < 300; ++document)
    corpus += "good film . bad plot .\nwhy not ? the film is dull .\n\n";
  o.corpus = world.path("corpus.txt");
  write_file(o.corpus, corpus);
  return o;
}

int run_items(const LnPeftOptions& o) {
  Document document(o, "lnpeft");
  return document.run(lnpeft_items(document, o));
}

std::vector<real> tensor(const std::string& file, const std::string& name) { return SafeTensors(file).read(name); }

}  // namespace

TEST_CASE("layernorm_tuning: the items of a small model leave tables and verdicts, and are not computed twice") {
  const SmallWorld world;
  write_tasks(world);
  const Quiet quiet;
  LnPeftOptions o = small_options(world);
  REQUIRE(run_items(o) == 0);
  const auto rows = [&](const std::string& name) { return rows_of(world, name); };
  CHECK(rows("fig1") == 2 * 2 * 8);                  // tasks, seeds, components
  // The model has no head of masked words; single layers are of the first seed
  CHECK(rows("sec2.3") == 2 * (1 + 4 * 2) + 2 * (1 + 4));
  CHECK(rows("tab1") == 2 * 2 * 8);
  CHECK(rows("tab2") == 2 * 2 * (2 + 3));            // tasks, seeds, rates of full-model and of the others
  CHECK(rows("tab2-best") == 2 * 2 * 4);
  CHECK(rows("tab2-judged") == 2 * 2 * 4);
  CHECK(rows("sec3.1") == 3 + 1);
  CHECK(rows("tab3") == 4 * 2);
  CHECK(contains(read_file(world.path("study/tab3-layer-norm/QNLI.tsv")), "index\tprediction\n0\t"));
  CHECK_FALSE(std::filesystem::exists(world.path("study/tab3-layer-norm/SST-2.tsv")));
  CHECK(rows("fig2") == 2 * 2 * 2);
  CHECK(rows("fig3") == 2 * 2 * 2);
  CHECK(rows("fig4") == 2 * 2);
  CHECK(rows("fig5") == 4 * 2 * 2 * 2);
  const Json report = Json::load(world.path("study/report.json"));
  for (const Json& item : report["items"].items()) CHECK(item["status"].string() == "run");
  for (const char* name : {"tab2", "fig2", "fig5"})         // one of two rates of full-model is chosen
    CHECK(contains(item_of(report, name)["differs"].dump(), "on one half of the dev rows"));
  const Json third = item_of(report, "tab2")["tables"].items()[0]["rows"].items()[2];
  CHECK(third["head"].string() == "layer-norm");
  const Json share = third["cells"].items()[0];
  CHECK(share["printed"].string() == "0.015");
  CHECK(share["note"].string().starts_with(formatted("{} of ", 2 * H + 2 * (H + 1))));
  const Json without_norm = item_of(report, "sec2.3");
  CHECK(without_norm["claims"].items().back()["verdict"].string() == "not comparable");
  const Json all_dimensions = without_norm["tables"].items()[0]["rows"].items()[4];
  CHECK(all_dimensions["head"].string() == formatted("all dimensions: {}", 2 * H));
  for (const Json& claim : item_of(report, "fig5")["claims"].items()) CHECK(claim["kind"].string() == "about");
  CHECK(item_of(report, "tab3")["tables"].items()[0]["rows"].items()[1]["cells"].items()[0]["printed"].string() ==
        "0.082");
  // One model is one pair: two seeds, whatever the number of tasks
  for (const Json& claim : item_of(report, "fig1")["claims"].items()) CHECK(claim["pairs"].items().size() == 2);

  const size_t folders = run_folders(world);
  const std::string fig5 = read_file(world.path("study/fig5.csv"));
  REQUIRE(run_items(o) == 0);
  CHECK(run_folders(world) == folders);
  CHECK(read_file(world.path("study/fig5.csv")) == fig5);
  o.fraction = {0.5, 0.1, 1};
  REQUIRE(run_items(o) == 0);
  CHECK(run_folders(world) == folders + 4 * 2 * 2);
}

TEST_CASE("layernorm_tuning: D, L0 and L1 are those of the two files of weights") {
  SmallWorld world;
  write_tasks(world);
  LnPeftOptions o = small_options(world);
  o.items = {"fig1"};
  o.seeds = 1;
  {
    const Quiet quiet;
    REQUIRE(run_items(o) == 0);
    Document document(o, "lnpeft");
    TrainOptions training = LnPeftRuns(document, o).train_options("full-model", 1e-2, o.seed);
    training.model = o.model;
    training.data = o.data;
    training.tasks = "qnli";
    training.metric = "qnli=accuracy";
    training.max_length = 16;
    train(Experiment(training), training, world.path("again"));
  }
  // sec.2: of all components together, and beside what models with new weights are apart
  const TrainedModel start(world.path("start"));
  const auto new_model = [&](int seed) { return Model(start.config, uint64_t(seed), true, heads_of(start.tasks), 0); };
  const Model first = new_model(o.seed), second = new_model(o.seed + 1000);
  const auto apart = [](const Model& a, const Model& b) {
    double n = 0, L1 = 0;
    for (const Parameter& p : a.parameters.items()) {
      if (!layer_site(p.name)) continue;
      const std::vector<real> x = p.value.values(), y = b.parameters.value(p.name).values();
      for (size_t i = 0; i < x.size(); ++i) L1 += std::abs(double(x[i]) - double(y[i]));
      n += double(x.size());
    }
    return fixed(1000 * L1 / n, 3);
  };
  const Json rows = item_of(Json::load(world.path("study/report.json")), "fig1")["tables"].items()[1]["rows"];
  const auto shown = [&](size_t row) { return rows.items()[row]["cells"].items()[0]["ours"].string(); };
  const TrainedModel again(world.path("again"));
  REQUIRE(rows.items().size() == 4);                 // two tasks, and what belongs to none
  CHECK(rows.items()[1]["head"].string() == "fine-tuning on QNLI");
  CHECK(std::stod(shown(1)) == doctest::Approx(std::stod(apart(start.model, again.model))).epsilon(1e-2));
  CHECK(std::stod(shown(2)) == doctest::Approx(std::stod(apart(first, start.model))).epsilon(1e-3));
  CHECK(std::stod(shown(3)) == doctest::Approx(std::stod(apart(first, second))).epsilon(1e-3));

  const auto table = csv(world.path("study/fig1.csv"));
  for (const char* component : {"output.LayerNorm", "attention.self.key"}) {
    INFO(component);
    double n = 0, L0 = 0, L1 = 0;
    for (const char* kind : {"weight", "bias"}) {
      const std::string name = formatted("bert.encoder.layer.0.{}.{}", component, kind);
      const std::vector<real> before = tensor(world.path("start/model.safetensors"), name);
      const std::vector<real> after = tensor(world.path("again/model/model.safetensors"), name);
      for (size_t i = 0; i < before.size(); ++i) {
        n += 1;
        L0 += before[i] != after[i];
        L1 += std::abs(double(before[i]) - double(after[i]));
      }
    }
    CHECK(value_in(world, "fig1", {"qnli", "1", component, "11711", formatted("{}", n)}) ==
          doctest::Approx(L1).epsilon(1e-4));
    for (const auto& row : table)
      if (row[0] == "qnli" && row[2] == component) {
        CHECK(std::stod(row[5]) == doctest::Approx(L1 / n).epsilon(1e-4));
        CHECK(std::stod(row[6]) == L0);
      }
  }
}

TEST_CASE("layernorm_tuning: tab1 and fig3 are the information of the models that each seed's tuning begins with") {
  const SmallWorld world;
  write_tasks(world);
  const Quiet quiet;
  LnPeftOptions o = small_options(world);
  o.items = {"tab1", "fig3"};
  o.fisher_examples = 0, o.seeds = 6;
  REQUIRE(run_items(o) == 0);
  std::vector<int32_t> all(24);
  for (size_t i = 0; i < all.size(); ++i) all[i] = int32_t(i);
  std::set<double> shares;
  for (const int seed : {o.seed, o.seed + 1}) {
    INFO(seed);
    TrainOptions training;
    training.model = o.model, training.data = o.data, training.tasks = "qnli";
    training.max_length = 16, training.seed = seed;
    const Experiment experiment(training);
    const auto model = new_model(experiment, training, true);
    const TaskData& data = experiment.data()[0];
    const ElementValues F = fisher_information(model->network, model->parameters, data.task, data.train, all);
    double sum = 0, normalized = 0;
    for (const std::string& component : layer_components()) {
      double total = 0, n = 0;
      for (const char* kind : {".weight", ".bias"})
        for (const double v : F.at("bert.encoder.layer.0." + component + kind)) {
          total += v;
          n += 1;
        }
      sum += total / n;
      if (component == "attention.self.value") normalized = total / n;
    }
    shares.insert(normalized / sum);
    CHECK(value_in(world, "tab1", {"qnli", "attention.self.value", std::to_string(seed)}) ==
          doctest::Approx(normalized / sum).epsilon(1e-4));
    double bias = 0;
    for (const double v : F.at("bert.encoder.layer.0.output.LayerNorm.bias")) bias += v;
    CHECK(value_in(world, "fig3", {"qnli", "1", "bias", std::to_string(seed)}) == doctest::Approx(bias).epsilon(1e-4));
  }
  CHECK(shares.size() == 2);                         // each seed has a head of its own
  const Json report = Json::load(world.path("study/report.json"));
  for (const Json& claim : item_of(report, "tab1")["claims"].items()) {
    CHECK(claim["kind"].string() == "measured");
    CHECK(claim["pairs"].items().size() == 6);
  }
  CHECK(item_of(report, "fig3")["claims"].items()[1]["pairs"].items().size() == 6);
  CHECK(contains(item_of(report, "tab1")["tables"].dump(), " ± "));
}

TEST_CASE("layernorm_tuning: the held-out loss has the interval of its sequences drawn again") {
  const SmallWorld world;
  write_tasks(world);
  const Quiet quiet;
  LnPeftOptions o = small_options(world);
  o.items = {"sec2.3"};
  o.seeds = 1, o.tasks = "sst2";
  const BertConfig config = BertConfig::load(o.model + "/config.json");
  const WithParameters<BertForPreTraining> network(config, 5, true);
  o.model = world.path("pre-trained");
  save_model(o.model, config, Tokenizer(world.path("vocab.txt"), true), network.parameters);
  REQUIRE(run_items(o) == 0);
  const double whole = value_in(world, "sec2.3", {"mlm", "whole", "none"});
  for (const auto& [claim, what] : {std::pair(0, "all"), {1, "1"}}) {
    const Json judged = item_of(Json::load(world.path("study/report.json")), "sec2.3")["claims"].items()[size_t(claim)];
    INFO(judged["why"].string());
    const double rise = 100 * (value_in(world, "sec2.3", {"mlm", what, "every"}) / whole - 1);
    CHECK(judged["pairs"].items()[0].number() == doctest::Approx(rise).epsilon(1e-3));
    CHECK(contains(judged["why"].string(), "over rows drawn again"));
    CHECK(contains(judged["why"].string(), "printed 300.0 %") == (claim == 1));
  }
}

TEST_CASE("layernorm_tuning: similarities that differ by rounding alone have no correlation") {
  const SmallWorld world;
  write_glue(world, "STS-B");
  const Quiet quiet;
  TrainOptions training;
  training.model = world.path("start"), training.data = world.path("glue"), training.tasks = "stsb";
  training.max_length = 16;
  const Experiment experiment(training);
  const auto model = new_model(experiment, training, true);
  const TaskData& data = experiment.data()[0];
  CHECK(score_of(model->network, data.task, data.dev[0]));
  const Tensor weight = model->parameters.value("heads.stsb.weight");
  std::vector<real> small = weight.values();
  for (real& w : small) w *= real(1e-5);
  weight.copy_from(small);
  CHECK(scores_on(data.dev, model->network, data.task)[0]);         // of their order, which says nothing
  CHECK_FALSE(score_of(model->network, data.task, data.dev[0]));
}

TEST_CASE("layernorm_tuning: beside the test of the printed scores stands a paired one, which contradicts it") {
  const SmallWorld world;
  write_tasks(world);
  const Quiet quiet;
  LnPeftOptions o = small_options(world);
  o.items = {"facts"};
  REQUIRE(run_items(o) == 0);
  CHECK(value_in(world, "facts", {"p paired", "dev"}) == doctest::Approx(26 / 512.0));
  CHECK(value_in(world, "facts", {"p paired", "test"}) == doctest::Approx(12 / 512.0));
  const Json facts = item_of(Json::load(world.path("study/report.json")), "facts");
  for (const size_t fact : {0, 1}) {
    const Json claim = facts["claims"].items()[fact];
    CHECK(claim["verdict"].string() == "so");
    CHECK(claim["why"].string() == "3 of 3 printed values are ours to the digit");
  }
  const Json none = facts["claims"].items()[2];
  CHECK(contains(none["text"].string(), "no significant difference"));
  CHECK(none["verdict"].string() == "contradicted");
  CHECK(none["why"].string() == "1 of 8 tasks agree, mean difference -0.69 points [-1.37, -0.05]; p = 0.047");
  CHECK(contains(facts["tables"].dump(), "\"15 of 18\""));
}

TEST_CASE("layernorm_tuning: a run of one answer is named in the claim, and not counted") {
  const SmallWorld world;
  write_tasks(world);
  const std::string file = world.path("glue/SST-2/train.tsv");      // all good but one
  write_file(file, std::regex_replace(read_file(file), std::regex("\t0\n"), "\t1\n") + "dull plot\t0\n");
  const Quiet quiet;
  LnPeftOptions o = small_options(world);
  o.items = {"tab2"};
  o.tasks = "sst2", o.lr_full = {1e-1}, o.epochs = 10;
  REQUIRE(run_items(o) == 0);
  const Json claims = item_of(Json::load(world.path("study/report.json")), "tab2")["claims"];
  for (const Json& claim : claims.items()) {
    if (!contains(claim["text"].string(), "full fine-tuning")) continue;
    CHECK(claim["verdict"].string() == "undecided");
    CHECK(claim["pairs"].items().empty());
    const std::string why = claim["why"].string();
    CHECK(why.starts_with("no seed is left; not counted, since a loss is not finite or every input gets the same "
                          "answer: seed 11711 (full-model), 11711 ("));
    CHECK(contains(why, "11712 (full-model)"));
  }
}

TEST_CASE("papers: the better yardstick of each dev set is evidence, in the unit of the scores") {
  const SmallWorld world;
  write_tasks(world);
  write_glue(world, "STS-B");
  const Quiet quiet;
  LnPeftOptions o = small_options(world);
  o.tasks = "sst2,stsb";
  Document document(o, "lnpeft");
  REQUIRE(document.study().run(yardstick_runs(document, document.tasks())()));
  for (const double factor : {1, 100}) {             // scores in percent, and as shares
    ItemReport report(o.out, LongTable({"value"}), Json::object({{"name", "tab2"}}));
    report.judge_by(LongTable({"task", "mode", "seed", "score"}), {factor, 2, "points"});
    show_yardsticks(document, document.tasks(), report);
    const LongTable& handed = report.evidence()->yardsticks;
    for (const Task& task : document.tasks()) {
      INFO(task.name);
      const auto all = yardsticks(o.data, task, Tokenizer(world.path("vocab.txt"), true), o.dataset_options(16),
                                  uint64_t(o.seed), std::cerr);
      const double best = std::max(all[0][0].value_or(0), all[1][0].value_or(0));
      const double error = task.name == "sst2" ? std::sqrt(best * (1 - best) / 8) : (1 - best * best) / std::sqrt(7);
      CHECK(handed.values({{"task", task.name}, {"what", "score"}})[0] == doctest::Approx(best * 100 / factor));
      CHECK(handed.values({{"task", task.name}, {"what", "error"}})[0] == doctest::Approx(error * 100 / factor));
    }
  }
}

TEST_CASE("layernorm_tuning: masks take the largest elements, and the tasks' information counts alike") {
  const ElementValues a = {{"bias", {1, 3}}, {"weight", {2, 4}}}, b = {{"bias", {0, 100}}, {"weight", {300, 0}}};
  CHECK(largest_elements(a, 0.5) == std::map<std::string, Mask>{{"bias", {0, 1}}, {"weight", {0, 1}}});
  CHECK(largest_elements(a, 0.01) == std::map<std::string, Mask>{{"bias", {0, 0}}, {"weight", {0, 1}}});
  CHECK(largest_elements(a, 1) == std::map<std::string, Mask>{{"bias", {1, 1}}, {"weight", {1, 1}}});
  const ElementValues sum = normalized_sum({a, b});
  CHECK(sum.at("bias")[1] == doctest::Approx(0.3 + 0.25));
  CHECK(sum.at("weight")[0] == doctest::Approx(0.2 + 0.75));
  CHECK(largest_elements(sum, 0.25) == std::map<std::string, Mask>{{"bias", {0, 0}}, {"weight", {1, 0}}});
  CHECK_ERROR(normalized_sum({ElementValues{{"bias", {0, 0}}}}), "cannot be divided by its sum");

  const auto site = layer_site("bert.encoder.layer.11.attention.output.LayerNorm.bias");
  REQUIRE(site);
  CHECK(site->layer == 11);
  CHECK(site->component == "attention.output.LayerNorm");
  CHECK(site->kind == "bias");
  CHECK_FALSE(layer_site("bert.embeddings.LayerNorm.weight"));
  CHECK_FALSE(layer_site("bert.encoder.layer.0.attention.self.head_scale"));
}

TEST_CASE("layernorm_tuning: a disabled LayerNorm is 0 in its largest dimensions, and comes back") {
  const SmallWorld world;
  const Quiet quiet;
  const TrainedModel trained(world.path("start"));
  const Tensor weight = trained.model.parameters.value("bert.encoder.layer.0.output.LayerNorm.weight");
  const Tensor bias = trained.model.parameters.value("bert.encoder.layer.0.output.LayerNorm.bias");
  const std::vector<real> gains = {1, -3, 2, real(0.5), 1, 1, real(2.5), 1}, shifts(H, 7);
  weight.copy_from(gains);
  bias.copy_from(shifts);
  {
    const DisabledLayerNorm off(trained.model.parameters, 0, 2);
    CHECK(weight.values() == std::vector<real>{1, 0, 2, real(0.5), 1, 1, 0, 1});
    CHECK(bias.values() == std::vector<real>{7, 0, 7, 7, 7, 7, 0, 7});
  }
  {
    const DisabledLayerNorm off(trained.model.parameters, -1, 0);
    CHECK(weight.values() == std::vector<real>(H));
  }
  CHECK(weight.values() == gains);
  CHECK(bias.values() == shifts);
}

TEST_CASE("layernorm_tuning: fig6 shows a row for LayerNorm, a column for batch normalization, a point for none") {
  const SmallWorld world;
  write_tasks(world);
  const Quiet quiet;
  LnPeftOptions o = small_options(world);
  o.items = {"fig6"};
  REQUIRE(run_items(o) == 0);
  const auto table = csv(world.path("study/fig6.csv"));
  const auto moved = [&](const std::string& norm) {
    std::set<std::string> tokens, features;
    int count = 0;
    for (const auto& row : table)
      if (row[0] == norm && std::stod(row[3]) > 0) {
        tokens.insert(row[1]);
        features.insert(row[2]);
        ++count;
      }
    return std::tuple(tokens.size(), features.size(), count);
  };
  CHECK(moved("layer") == std::tuple(1, 6, 6));
  CHECK(moved("batch") == std::tuple(7, 1, 7));
  CHECK(moved("none") == std::tuple(1, 1, 1));
  CHECK(moved("instance") == std::tuple(3, 1, 3));  // the tokens of one sentence
  CHECK(moved("power") == std::tuple(1, 1, 1));     // its means are those of earlier batches
}

TEST_CASE("layernorm_tuning: the claims name values that the items have") {
  const Paper paper("lnpeft");
  CHECK(paper.item("tab2").printed.rows().size() == 4 * 9 + 4);
  CHECK(paper.item("tab3").printed.rows().size() == 4 * 9 + 4);
  const std::string text = read_file(shipped("data/papers/lnpeft.json"));
  for (const std::string& component : layer_components()) CHECK(contains(text, "\"" + component + "\""));
  for (const std::string& mode : LnPeftRuns::modes()) CHECK(contains(text, "\"" + mode + "\""));
}

}  // namespace minbert::test
