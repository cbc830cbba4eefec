// The items of the slides on normalization in Transformers, on small encoders and invented sentences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "child.h"
#include "engine/text.h"
#include "error_of.h"
#include "papers/nt/transformer_norms.h"
#include "papers/small_study.h"
#include "train/cli/command_line.h"

namespace minbert::test {
namespace {

// 45 sentences of a folder phrases/, whose first word tells the class.
void write_phrases(const SmallWorld& world) {
  std::filesystem::create_directories(world.path("phrases"));
  const std::vector<std::string> first = {"fell", "stayed", "rose"}, labels = {"negative", "neutral", "positive"};
  Random random(3, "phrases");
  std::string text;
  for (size_t i = 0; i < 45; ++i) {
    text += first[i % 3];
    for (int w = 0; w < 4; ++w) text += formatted(" word{}", random.below(30));
    text += " .@" + labels[i % 3] + "\n";
  }
  write_file(world.path("phrases/Sentences_AllAgree.txt"), text);
}

NtOptions small_nt(const SmallWorld& world) {
  write_phrases(world);
  NtOptions o;
  o.data = world.path("phrases");
  o.out = world.path("study");
  o.max_length = 16;
  o.epochs = 3;
  o.seeds = 2;
  o.widths = {4, 8, 12};
  o.layers = {1, 2};
  o.depths = {1, 3};
  o.lr = {1e300, 0.1};
  o.batch = 8;
  o.vocab_size = 100;
  o.measure_every = 3;
  return o;
}

int run_items(const NtOptions& o) {
  Document document(o, "transformer-norms");
  return document.run(nt_items(document, o));
}

// A run whose first epoch has losses of mean a, the last one of mean b, with deviations of .3 and .4 of 100 batches.
std::vector<EpochLoss> falling(double a, double b) { return {{a, 0.3, 100}, {(a + b) / 2, 0.3, 100}, {b, 0.4, 100}}; }

}  // namespace

TEST_CASE("transformer_norms: a verdict follows from the fall, its standard error and the majority's loss") {
  const double high = 10;                           // an entropy that every loss is below
  CHECK(convergence(falling(1, 0.5), high) == Convergence::converged);
  CHECK(convergence(falling(1, 0.89), high) == Convergence::converged);             // 2 errors are .085
  CHECK(convergence(falling(2, 1.89), high) == Convergence::slow);
  CHECK(convergence(falling(2, 1.92), high) == Convergence::not_converged);
  CHECK(convergence(falling(1, 1.5), high) == Convergence::not_converged);
  CHECK(convergence(falling(1, 0.5), 0.4) == Convergence::flat);
  CHECK(convergence(falling(2, 1.89), 1) == Convergence::flat);
  CHECK(convergence(falling(2, 1.89), 0.9) == Convergence::not_converged);          // above twice 0.9
  CHECK(convergence({{1.7, 0.1, 57}, {0.9107, 0.1, 57}}, 0.911) == Convergence::flat);         // below it by noise
  CHECK(convergence({{1, 0.1, 9}, {NAN, NAN, 2}}, high) == Convergence::diverged);
  CHECK(convergence({{INFINITY, NAN, 1}}, high) == Convergence::diverged);
  CHECK(convergence({{1, 0, 9}, {1, 0, 9}}, high) == Convergence::not_converged);
  CHECK_ERROR(convergence({{1, 0, 9}}, 1), "from 2 epochs on");
  for (const Convergence v : {Convergence::converged, Convergence::slow, Convergence::flat})
    CHECK(counts_as_converged(v));
  CHECK_FALSE(counts_as_converged(Convergence::not_converged));
  CHECK_FALSE(counts_as_converged(Convergence::diverged));
  CHECK(entropy_of_shares({1, 1, 2}) == doctest::Approx(1.5 * std::log(2)));
}

TEST_CASE("transformer_norms: a cell shows what most seeds do, beside the print") {
  const auto loss = [](double mean, double deviation = 0.01) {
    return Json::object().set("mean", mean).set("deviation", deviation).set("batches", 4);
  };
  const auto result = [&](double last, Json left, double entropy = 2) {
    return Json::object().set("first", loss(1.1)).set("epochs", Json::array({loss(1), loss(last)}))
        .set("entropy", entropy).set("left_finite", left);
  };
  NtCell cell;
  cell.printed = true;
  cell.add(result(0.25, {}));
  CHECK(cell.shown().ours == "converged");
  CHECK(cell.shown().note == "as printed; loss 1.10 → 0.25 nats");
  CHECK(cell.shown().mark == "good");
  cell.add(result(NAN, 2));
  CHECK_FALSE(cell.agrees());                       // one of two is not most, for either print
  cell.printed = false;
  CHECK_FALSE(cell.agrees());
  cell.printed = true;
  CHECK(cell.shown().ours == "1 converged, 1 diverged");
  CHECK(cell.shown().note == "not as printed; loss 1.10 → 0.25 nats; loss not finite in 1 of 2 seeds; "
                             "1 of 2 seeds count as converged");
  CHECK(cell.shown().mark == "half");
  cell.add(result(NAN, 1));
  cell.printed = false;
  CHECK(cell.agrees());

  NtCell flat;                                      // it falls, and ignores the sentence
  flat.printed = true;
  flat.add(result(0.9, {}, 0.9));
  CHECK(flat.shown().ours == "flat");
  CHECK(flat.agrees());
  CHECK_FALSE(flat.agrees(false));

  // A steep beginning has a large deviation, which says nothing against its fall.
  Json steep = result(0.15, {});
  steep.set("first", loss(4, 4)).set("epochs", Json::array({loss(0.5, 1), loss(0.15)}));
  CHECK(converged(steep));
}

TEST_CASE("transformer_norms: the items leave tables, verdicts and figures, and are not computed twice") {
  const SmallWorld world;
  const Quiet quiet;
  NtOptions o = small_nt(world);
  o.seeds = 1;
  o.epochs = 2;
  o.items = {"fig1", "gradient", "tab1", "tab4", "fig2", "fig4", "fig5"};
  REQUIRE(run_items(o) == 0);
  const Json report = Json::load(world.path("study/report.json"));
  for (const std::string& name : o.items) CHECK(item_of(report, name)["status"].string() == "run");
  const auto rows = [&](const std::string& name) { return rows_of(world, name); };
  CHECK(rows("tab1") == 2 * 3);                     // rates, norms
  CHECK(rows("gradient") == (2 + 4) * 5);
  CHECK(rows("gradient-factors") == 2 * (1 + 3) * 2 * 5);
  CHECK(rows("fig2") == 3 * 3);
  CHECK(rows("fig4") == 3 * 2 * 2);
  CHECK(rows("fig5") == rows("fig6"));
  const Json both = item_of(report, "fig4")["tables"].items()[0];       // what the classifier may read
  CHECK(both["columns"].dump(-1) == R"(["norm","cls","mean"])");
  size_t compared = 0;
  for (const auto& run : std::filesystem::directory_iterator(world.path("study/runs")))
    if (run.path().filename().string().starts_with("training-1x12-batch-lr0.1")) {
      const Json done = Json::load(run.path().string() + "/done.json");
      const Json last = done["result"]["epochs"].items().back();
      CHECK(both["rows"].items()[1]["cells"].items()[done["options"].has("read")]["ours"].string() ==
            fixed(last["dev_accuracy"].number(), 3));
      ++compared;
    }
  CHECK(compared == 2);
  CHECK(contains(item_of(report, "fig4")["claims"].dump(-1), "the document says no margin"));
  for (const auto& row : csv(world.path("study/tab4.csv"))) {
    if (row[2] == "norm") CHECK(row == std::vector<std::string>{"layers", "width", "norm", "lr", "seed", "verdict",
                                                                "first_loss", "last_loss", "dev_accuracy"});
    if (row[2] == "none" && row[3] == "1e+300") CHECK(row[5] == "diverged");
  }
  // A rate of 1e300 is not among the printed ones; of .1 each table has three cells.
  const Json claim = item_of(report, "fig2")["claims"].items()[0];
  CHECK(claim["verdict"].string() == "not comparable");
  CHECK(contains(claim["why"].string(), "do not say whether a larger or a smaller"));
  CHECK(contains(item_of(report, "fig2")["differs"].dump(-1), "a picture without its values"));
  const Json table = item_of(report, "tab1")["tables"].items()[0];
  CHECK(contains(table["title"].string(), " of 3 cells agree"));
  // One layer is both the first and the last: its ratio of gradients would be 1.
  CHECK(item_of(report, "gradient")["tables"].items()[0]["columns"].dump(-1) == R"(["","3 layers"])");
  CHECK(table["rows"].items()[1]["cells"].items()[0]["printed"].string() == "Converged");
  CHECK(contains(read_file(world.path("study/report.html")), "<td class=\"bad\"><span class=\"number\">diverged"));

  const size_t done = run_folders(world);
  NtOptions wider = o;
  wider.norms.push_back("rms");
  wider.items = {"tab1"};
  REQUIRE(run_items(wider) == 0);
  CHECK(run_folders(world) == done + 2);
}

TEST_CASE("transformer_norms: rows that are skipped or cut stand in the report, and once on the terminal") {
  const SmallWorld world;
  const Quiet quiet;
  NtOptions o = small_nt(world);
  const std::string file = world.path("phrases/Sentences_AllAgree.txt");
  const std::string sentences = read_file(file);
  // A row that both sets skip, one that one of them does, and one of 30 words.
  std::string unlabelled = "one without a label\n", glad = "one whose label is none .@glad\n", many;
  for (int i = 0; i < 30; ++i) many += "rose ";
  write_file(file, unlabelled + sentences + glad + many + ".@positive\n");
  o.seeds = 1;
  o.items = {"fig2", "fig3"};
  CHECK_ERROR(run_items(o), "--skip-bad-rows");     // they are more than one in a hundred
  o.skip_bad_rows = true;
  REQUIRE(run_items(o) == 0);
  const std::string skipped = file + ": 2 of 48 rows skipped: lines 1, 47";
  const std::string cut = ": 1 of 46 rows truncated to 16 tokens";
  const Json report = Json::load(world.path("study/report.json"));
  for (const std::string& name : o.items) {
    const std::string differs = item_of(report, name)["differs"].dump(-1);
    CHECK(contains(differs, skipped));
    CHECK(contains(differs, cut));
  }
  const std::string shown = quiet.text();
  REQUIRE(contains(shown, skipped));
  CHECK(shown.find(skipped) == shown.rfind(skipped));
  CHECK(contains(shown, "Sentences_AllAgree.txt:47: column \"label\" is \"glad\""));
}

TEST_CASE("transformer_norms: both placements are trained alike and judged by their accuracy [NT placement]") {
  const SmallWorld world;
  const Quiet quiet;
  NtOptions o = small_nt(world);
  o.items = {"placement"};
  REQUIRE(run_items(o) == 0);
  CHECK(rows_of(world, "placement") == 2 * 2 * 2 * 2);       // depths, placements, norms, seeds
  const Json item = item_of(Json::load(world.path("study/report.json")), "placement");
  REQUIRE(item["claims"].items().size() == 2);
  CHECK(contains(item["claims"].items()[0]["why"].string(), "the document says no margin"));
  CHECK(contains(item["claims"].items()[1]["why"].string(), "of 2 seeds agree, mean difference"));
  const Json table = item["tables"].items()[0];
  CHECK(table["columns"].dump(-1) == R"(["norm","1 layer, post","1 layer, pre","2 layers, post","2 layers, pre"])");
  double sum = 0;
  for (const auto& row : csv(world.path("study/placement.csv")))
    if (row[0] == "1" && row[1] == "pre" && row[2] == "batch") sum += std::stod(row[7]);
  CHECK(sum > 0);
  CHECK(table["rows"].items()[1]["cells"].items()[1]["ours"].string().starts_with(fixed(sum / 2, 3) + " ± "));
}

TEST_CASE("transformer_norms: the mean of the sentence in [CLS]'s place, and a vocabulary that is given") {
  const SmallWorld world;
  const Quiet quiet;
  NtOptions o = small_nt(world);
  o.items = {"gradient"};
  REQUIRE(run_items(o) == 0);
  const auto differs = [&] {
    return item_of(Json::load(world.path("study/report.json")), "gradient")["differs"].dump();
  };
  CHECK(contains(differs(), "the classifier reads [CLS] alone"));
  CHECK(contains(differs(), "a vocabulary of the training sentences"));
  const std::string by_cls = read_file(world.path("study/gradient.csv"));

  o.vocab = world.path("vocab.txt");
  o.read = NtRead::mean;
  write_file(o.vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfell\nstayed\nrose\n");
  REQUIRE(run_items(o) == 0);
  CHECK(contains(differs(), "the classifier reads the mean of the sentence"));
  CHECK_FALSE(contains(differs(), "a vocabulary of the training sentences"));
  CHECK(read_file(world.path("study/gradient.csv")) != by_cls);
  const Document document(o, "transformer-norms");
  const NtData data = read_nt_data(o, o.vocab);
  CHECK(data.tokenizer.size() == 8);
  NtModel model = new_network(o, data, {.layers = 1, .width = 8, .norm = "layer"});
  const Batch batch = labeled(data.train, std::vector<int32_t>{0, 1, 2}).batch;
  const Tensor hidden = model.network.bert().forward(batch).last_hidden_state;
  CHECK(model.network.forward(batch).values() == model.network.of_hidden(hidden, batch).values());
  const GradientWalk walk = walk_gradient(model, batch, {0, 1, 2});
  CHECK(walk.difference < 1e-4);
  CHECK(walk.tape.back() > 0);
}

TEST_CASE("transformer_norms: the share of the largest class, and a run that leaves the finite") {
  const SmallWorld world;
  const Quiet quiet;
  NtOptions o = small_nt(world);
  Document document(o, "transformer-norms");
  const NtRuns runs(document, o);
  REQUIRE(document.study().run({runs.vocabulary()}));
  const NtData data = read_nt_data(o, document.study().folder(runs.vocabulary()) + "/vocab.txt");
  std::vector<double> learnt(3), right(3);          // of each class, sentences to train on and to validate on
  for (const Example& e : data.train.examples) ++learnt[size_t(e.label)];
  for (const Example& e : data.dev.examples) ++right[size_t(e.label)];
  const auto largest = std::max_element(learnt.begin(), learnt.end()) - learnt.begin();
  CHECK(data.majority == doctest::Approx(right[size_t(largest)] / double(data.dev.examples.size())));

  const NtSetup steep{.layers = 1, .width = 8, .norm = "none", .seed = 3, .lr = 1e300};
  CHECK(convergence(train_nt(o, data, steep, 0)) == Convergence::diverged);
}

TEST_CASE("transformer_norms: the first layer and the second are post-LN and pre-LN, by the tape [NT fig.1]") {
  const SmallWorld world;
  const Quiet quiet;
  NtOptions o = small_nt(world);
  Document document(o, "transformer-norms");
  const std::vector<Run> modules = nt_modules_item(std::make_shared<const NtRuns>(document, o)).runs();
  REQUIRE(document.study().run(modules));
  const auto text = [&](const std::string& placement) {
    std::string all;
    for (const Json& box : document.result(modules[0])[placement].items()) {
      all += box["title"].string() + "(";
      for (const Json& from : box["reads"].items()) all += std::to_string(from.integer());
      all += ") ";
    }
    return all;
  };
  CHECK(text("post") == "x() Attention(0) +(01) Norm 1(2) Feed-forward(3) +(34) Norm 2(5) ");
  CHECK(text("pre") == "x() Norm 1(0) Attention(1) +(02) Norm 2(3) Feed-forward(4) +(35) ");
}

TEST_CASE("transformer_norms: the printed tables have 21 verdicts each, and every claim can be judged") {
  const Paper paper("transformer-norms");
  const std::vector<int> converged = {14, 14, 13, 9, 9, 7};
  for (size_t t = 0; t < 6; ++t) {
    const LongTable table = paper.item(formatted("tab{}", t + 1)).printed;
    REQUIRE(table.rows().size() == 21);
    int count = 0;
    for (const LongTable::Row& row : table.rows()) count += *row.value > 0;
    CHECK(count == converged[t]);
    CHECK(table.values({{"norm", "none"}, {"lr", "0.5"}}) == std::vector<double>{0});
    CHECK(table.values({{"norm", "layer"}, {"lr", "0.0001"}}) == std::vector<double>{1});
  }
  for (const PaperItem& item : paper.items)
    for (const Json& claim : item.claims) {
      INFO(claim["text"].string());
      CHECK(int(claim.has("all")) + int(claim.has("more")) + int(claim.has("why")) == 1);
    }
}

TEST_CASE("long table: a claim of all values holds where each of them is the one it says; commas stand in quotes") {
  LongTable table({"norm", "lr", "converged"});
  table.add({"layer", "1"}, 1);
  table.add({"layer", "2"}, 1);
  table.add({"group:groups=4,eps=1e-3", "1"}, 0);
  CHECK(judge_all({{"norm", "layer"}}, 1, table).word == "as printed");
  CHECK(judge_all({{"lr", "1"}}, 1, table).word == "not as printed");
  CHECK(judge_all({{"lr", "1"}}, 1, table).why == "1 of 2 values is as it says");
  CHECK(judge_all({{"lr", "3"}}, 1, table).word == "not run");
  const SmallWorld world;
  table.save(world.path("table.csv"));
  CHECK(contains(read_file(world.path("table.csv")), "\n\"group:groups=4,eps=1e-3\",1,0\n"));
}

TEST_CASE("transformer_norms: a process that shows --help" * doctest::skip()) {
  NtOptions o;
  CommandLine line("transformer_norms", "");
  add_document_options(line, o);
  std::string name = "transformer_norms", help = "--help";
  std::vector<char*> words = {name.data(), help.data()};
  line.parse(2, words.data());
}

TEST_CASE("transformer_norms: --help says which file it reads") {
  const SmallWorld world;
  write_file(world.path("help.txt"), "");
  Child("transformer_norms: a process that shows --help", "", world.path("help.txt")).peak_memory();
  std::istringstream help(read_file(world.path("help.txt")));   // newer versions of CLI11 wrap its lines
  std::string words;
  for (std::string word; help >> word;) words += word + ' ';
  CHECK(contains(words, "folder with the PhraseBank: Sentences_AllAgree.txt "));
}

TEST_CASE("transformer_norms: what it cannot use is an error that says so") {
  const SmallWorld world;
  NtOptions o = small_nt(world);
  const auto refused = [&](const std::function<void(NtOptions&)>& change) {
    NtOptions other = o;
    change(other);
    return error_of([&] { check_nt_options(other); });
  };
  CHECK(refused([](NtOptions&) {}) == "no error");
  CHECK(contains(refused([](NtOptions& x) { x.lr = {0}; }), "--lr 0: expected numbers above 0"));
  CHECK(contains(refused([](NtOptions& x) { x.widths = {4, 8, 10}; }), "multiples of 4"));
  CHECK(contains(refused([](NtOptions& x) { x.widths = {4}; }), "expected three"));
  CHECK(contains(refused([](NtOptions& x) { x.layers = {1}; }), "expected two"));
  CHECK(contains(refused([](NtOptions& x) { x.depths = {1.5}; }), "whole numbers"));
  CHECK(contains(refused([](NtOptions& x) { x.epochs = 1; }), "from 2 on"));
}

}  // namespace minbert::test
