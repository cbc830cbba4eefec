// The items of the slides on normalization in Transformers, on small encoders and invented sentences.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "child.h"
#include "engine/text.h"
#include "error_of.h"
#include "minbert/metrics.h"
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
  CHECK(convergence(falling(1, 0.5), 1) == Convergence::learned);
  CHECK(convergence(falling(1.1, 0.91), 1) == Convergence::learned);                // t errors of the epoch are .079
  CHECK(convergence(falling(1, 0.91), 1) == Convergence::not_converged);            // so low, but it did not come down
  CHECK(convergence(falling(1, 0.93), 1) == Convergence::not_converged);
  CHECK(convergence(falling(2, 1.88), 1.5) == Convergence::ran);                    // t errors of the fall are .112
  CHECK(convergence(falling(2, 1.89), 1.5) == Convergence::not_converged);
  CHECK(convergence(falling(1, 1.5), 1) == Convergence::not_converged);
  CHECK(convergence(falling(1, 0.5), 0.4) == Convergence::ran);
  CHECK(convergence(falling(2, 1.8), 0.9) == Convergence::ran);
  CHECK(convergence(falling(2, 1.8), 0.89) == Convergence::not_converged);          // above twice 0.89
  CHECK(convergence({{2, 0.1, 9}, {0.5, 0.1, 9}, {2.1, 0.1, 9}}, 1) == Convergence::not_converged);
  CHECK(convergence({{1.7, 0.1, 57}, {0.9107, 0.1, 57}}, 0.911) == Convergence::ran);          // below it by noise
  CHECK(convergence({{1, 0.1, 9}, {NAN, NAN, 2}}, 1) == Convergence::diverged);
  CHECK(convergence({{INFINITY, NAN, 1}}, 1) == Convergence::diverged);
  CHECK(convergence({{1, 0, 9}, {1, 0, 9}}, 1) == Convergence::not_converged);
  CHECK_ERROR(convergence({{1, 0, 9}}, 1), "from 2 epochs on");
  CHECK(entropy_of_shares({1, 1, 2}) == doctest::Approx(1.5 * std::log(2)));
}

// One side's .025, by the batches of the generated sentences' epoch and of the PhraseBank's, of whose first a tenth is
// the beginning. The smaller deviation of the two called a loss that does not fall "fell" in 15.6 and 6.5 of 100 cases.
TEST_CASE("transformer_norms: by simulation, a loss that does not fall is called so at the nominal error alone") {
  std::mt19937 random(7);
  std::normal_distribution<double> loss(1.1, 0.1);
  constexpr int cases = 20000;
  for (const auto& [first, last] : {std::pair(2, 15), {5, 57}}) {
    const auto epoch = [&](int batches) {
      std::vector<double> losses(static_cast<size_t>(batches));
      for (double& l : losses) l = loss(random);
      const Summary s = summarize(losses);
      return EpochLoss{s.mean, s.deviation, batches};
    };
    int fell = 0;
    for (int i = 0; i < cases; ++i) fell += convergence({epoch(first), epoch(last)}, 1) <= Convergence::ran;
    const double error = std::sqrt(0.025 * 0.975 / cases);
    CHECK(std::abs(fell / double(cases) - 0.025) < 3 * error);
  }
}

// A head without a sentence, three biases trained by SGD: whatever the rate, its loss is not clearly below the entropy.
TEST_CASE("transformer_norms: by simulation, a network that ignores the sentence is not called learned") {
  std::mt19937 random(8);
  std::vector<size_t> labels(480);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = i < 290 ? 0 : i < 420 ? 1 : 2;
  int learned = 0, ran = 0, runs = 0;
  for (const double lr : {0.01, 0.1, 0.5, 1.0, 3.0})
    for (int run = 0; run < 40; ++run, ++runs) {
      std::vector<double> bias(3);
      for (double& b : bias) b = std::normal_distribution<double>(0, 1)(random);
      std::vector<EpochLoss> epochs;
      for (int epoch = 0; epoch < 12; ++epoch) {
        std::ranges::shuffle(labels, random);
        std::vector<double> losses;
        for (size_t first = 0; first < labels.size(); first += 32) {
          double sum = 0, loss = 0;
          for (const double b : bias) sum += std::exp(b);
          std::vector<double> gradient(3);
          for (size_t c = 0; c < 3; ++c) gradient[c] = std::exp(bias[c]) / sum;
          for (size_t i = first; i < first + 32; ++i) {
            loss -= (bias[labels[i]] - std::log(sum)) / 32;
            gradient[labels[i]] -= 1.0 / 32;
          }
          losses.push_back(loss);
          for (size_t c = 0; c < 3; ++c) bias[c] -= lr * gradient[c];
        }
        const Summary all = summarize(losses), beginning = summarize({losses.begin(), 2});
        if (epoch == 0) epochs.push_back({beginning.mean, beginning.deviation, 2});
        epochs.push_back({all.mean, all.deviation, 15});
      }
      const Convergence verdict = convergence(epochs, entropy_of_shares({290, 130, 60}));
      learned += verdict == Convergence::learned;
      ran += verdict == Convergence::ran;
    }
  CHECK(ran > runs / 4);
  CHECK(learned == 0);
}

namespace {

Json epoch_of(double mean, double deviation = 0.01, double dev_loss = 1) {
  return Json::object().set("mean", mean).set("deviation", deviation).set("batches", 4).set("dev_loss", dev_loss);
}
Json result_of(double last, const Json& left, double entropy = 2) {
  return Json::object().set("first", epoch_of(1.1)).set("epochs", Json::array({epoch_of(1), epoch_of(last)}))
      .set("entropy", entropy).set("left_finite", left);
}

}  // namespace

TEST_CASE("transformer_norms: a cell shows what most seeds do, beside the print") {
  NtCell cell;
  cell.printed = true;
  cell.add(result_of(0.25, {}));
  CHECK(cell.shown().ours == "learned");
  CHECK(cell.shown().note == "as printed; loss 1.10 → 0.250 nats");
  CHECK(cell.shown().mark == "good");
  cell.add(result_of(NAN, 2));
  CHECK_FALSE(cell.agrees());                       // one of two is not most, for either print
  cell.printed = false;
  CHECK_FALSE(cell.agrees());
  cell.printed = true;
  CHECK(cell.shown().ours == "1 learned, 1 diverged");
  CHECK(cell.shown().note ==
        "not as printed; learned: loss 1.10 → 0.250 nats; diverged: loss not finite from epoch 2");
  CHECK(cell.shown().mark == "half");
  cell.add(result_of(NAN, 1));
  cell.printed = false;
  CHECK(cell.agrees());

  NtCell flat;                                      // it falls, and ignores the sentence
  flat.printed = true;
  flat.add(result_of(0.9, {}, 0.9));
  CHECK(flat.shown().ours == "ran");
  CHECK(flat.shown().mark == "half");
  CHECK_FALSE(flat.agrees());
  CHECK(flat.agrees(Convergence::ran));

  // A steep beginning has a large deviation, which says nothing against its fall.
  Json steep = result_of(0.15, {});
  steep.set("first", epoch_of(4, 4)).set("epochs", Json::array({epoch_of(0.5, 1), epoch_of(0.15)}));
  CHECK(learned(steep));
}

TEST_CASE("transformer_norms: no cell has a mean over unlike outcomes; of like ones it has the median") {
  NtCell cell;
  for (const double last : {0.9, 0.9, 0.9, 0.92, 4004888778.17}) cell.add(result_of(last, {}, 0.9));
  CHECK(cell.shown().ours == "4 ran, 1 not-converged");
  CHECK(cell.shown().note == "ran: loss 1.10 → 0.900 nats; not-converged: loss 1.10 → 4.00e+09 nats");
  for (size_t i = 0; i < cell.results.size(); ++i) {
    Json::Array epochs = cell.results[i]["epochs"].items();
    epochs.back().set("dev_accuracy", i ? Json(0.1 * double(i)) : Json());
    cell.results[i].set("epochs", Json::array(epochs));
  }
  CHECK(cell.accuracy().ours == "0.250 (0.100 to 0.400)");
  CHECK(cell.accuracy().note.starts_with("4 ran, 1 not-converged; "));
  CHECK(median_text({0.5}, 3) == "0.500");
  CHECK(median_text({}, 3) == "undefined");
}

TEST_CASE("transformer_norms: faster is in fewer epochs below the entropy, and who never gets there comes last") {
  const auto result = [](const std::vector<double>& means, const Json& left = {}) {
    Json::Array epochs;
    for (const double mean : means) epochs.push_back(epoch_of(mean, 0.01, mean + 0.2));
    return Json::object().set("first", epoch_of(9)).set("epochs", Json::array(epochs)).set("entropy", 1.0)
        .set("left_finite", left);
  };
  // Who begins at 6 nats and learns is faster than who begins at 2 and does not, although its mean loss is larger.
  const Json steep = result({6, 0.9, 0.7}), flat = result({2, 1.01, 1.0});
  CHECK(epochs_to_learn(steep, 3) == 2);
  CHECK(epochs_to_learn(flat, 3) == 4);
  CHECK(epochs_to_learn(result({2, 0.995, 0.99}), 3) == 4);             // by less than t errors of .005
  CHECK(epochs_to_learn_on_dev(steep, 3, 1) == 3);
  CHECK(epochs_to_learn_on_dev(flat, 3, 1) == 4);
  CHECK(epochs_to_learn(result({2, 0.5, NAN}, 3), 12) == 13);           // it ends not finite
  CHECK(epochs_to_learn_on_dev(result({2, 0.5, NAN}, 3), 12, 1) == 13);
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
  CHECK(item_of(report, "fig4")["tables"].items()[0]["columns"].dump(-1) == R"(["norm","train","validation"])");
  const Json both = item_of(report, "fig4")["tables"].items()[1];       // what the classifier may read
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
  const std::string fig4 = item_of(report, "fig4")["claims"].dump(-1);
  CHECK(contains(fig4, "1 seed, too few to tell: mean difference"));
  CHECK(contains(fig4, "epochs"));
  CHECK(contains(fig4, " of 3 runs"));              // one of each norm
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
  const Json table = item_of(report, "tab1")["tables"].items()[0],
             agreement = item_of(report, "tab1")["tables"].items()[1];
  const auto counts = [&](size_t row) {
    std::vector<std::string> all;
    for (const Json& cell : agreement["rows"].items()[row]["cells"].items()) all.push_back(cell["ours"].string());
    return all;
  };
  CHECK(counts(0)[0] == "3");
  CHECK(counts(0)[3] == "3");                       // all three converge at .1 as printed, and by the rate alone
  CHECK(counts(1) == std::vector<std::string>{"0", "0", "0", "0"});
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
  const std::string unimportant = item["claims"].items()[0]["why"].string();    // at either depth
  CHECK(unimportant.find("2 seeds, too few to tell") != unimportant.rfind("2 seeds, too few to tell"));
  CHECK(contains(item["claims"].items()[1]["why"].string(), "2 seeds, too few to tell: mean difference"));
  const Json table = item["tables"].items()[0];
  CHECK(table["columns"].dump(-1) == R"(["norm","1 layer, post","1 layer, pre","2 layers, post","2 layers, pre"])");
  double sum = 0;
  for (const auto& row : csv(world.path("study/placement.csv")))
    if (row[0] == "1" && row[1] == "pre" && row[2] == "batch") sum += std::stod(row[7]);
  CHECK(sum > 0);
  CHECK(table["rows"].items()[1]["cells"].items()[1]["ours"].string().starts_with(fixed(sum / 2, 3) + " ("));
}

TEST_CASE("transformer_norms: gradients are recorded while networks learn") {
  const SmallWorld world;
  const Quiet quiet;
  NtOptions o = small_nt(world);
  o.record = 2;
  o.items = {"learning"};
  REQUIRE(run_items(o) == 0);
  CHECK(rows_of(world, "learning") == 3 * 2 * 2 * 2);        // depths, placements, start and end, seeds
  // At the first step of a network of two layers
  const auto first = [&](const std::string& site) {
    for (const auto& folder : std::filesystem::directory_iterator(world.path("study/runs")))
      if (folder.path().filename().string().starts_with("training-2x4-layer-pre-lr0.1-seed11712"))
        for (const auto& row : csv(folder.path().string() + "/sites.csv"))
          if (row[2] == "bert.encoder.layer." + site && row[3] == "|dL/dx|") return std::stod(row[4]);
    return 0.0;
  };
  CHECK(value_in(world, "learning", {"2", "pre", "start", "11712"}) ==
        doctest::Approx(std::abs(std::log10(first("0.attention.output.LayerNorm") / first("1.output.LayerNorm"))))
            .epsilon(1e-4));
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
      if (claim.has("why") || claim.has("absolute")) continue;
      const Claim judged = claim_of(claim);
      if (!judged.printed) continue;                // so many rates more
      double rates = 0;
      for (const double v : item.printed.values(judged.more)) rates += v;
      for (const double v : item.printed.values(judged.less)) rates -= v;
      CHECK(*judged.printed == rates);
    }
}

// A document whose tables agree with a rule that sees the rate alone says nothing of norms by that.
TEST_CASE("transformer_norms: agreement with the print stands beside that of a rule that is blind to the norm") {
  const SmallWorld world;
  const Quiet quiet;
  NtOptions o = small_nt(world);
  o.lr = {10, 1, 0.5, 0.1, 0.01, 0.001, 0.0001};
  o.seeds = 1, o.epochs = 2, o.widths = {4, 4, 4}, o.layers = {1, 1}, o.items = {"tab1", "tab4", "tab6"};
  REQUIRE(run_items(o) == 0);                       // so small that the six sizes are one, and all tables done
  const Json report = Json::load(world.path("study/report.json"));
  const auto row = [&](const char* item, size_t which) {
    const Json cells = item_of(report, item)["tables"].items()[1]["rows"].items()[which]["cells"];
    return std::vector<int>{std::stoi(cells.items()[0]["ours"].string()), std::stoi(cells.items()[3]["ours"].string())};
  };
  CHECK(row("tab1", 0) == std::vector<int>{21, 19});
  CHECK(row("tab1", 1) == std::vector<int>{3, 1});
  CHECK(row("tab4", 0) == std::vector<int>{21, 16});
  CHECK(row("tab4", 1) == std::vector<int>{9, 4});
  CHECK(row("tab6", 2) == std::vector<int>{126, 104});
  CHECK(row("tab6", 3) == std::vector<int>{39, 17});
  CHECK(item_of(report, "tab4")["tables"].items()[1]["rows"].items().size() == 2);

  // A claim counts runs that learned, not those that merely ran, as LayerNorm's does at .5 in two epochs.
  for (const auto& run : csv(world.path("study/tab1.csv")))
    if (run[2] == "layer" && run[3] == "0.5")
      for (const Json& claim : item_of(report, "tab1")["claims"].items())
        if (claim["text"].string() == "LayerNorm converges (here: learns) at .5")
          CHECK(claim["why"].string().starts_with(run[5] == "learned" ? "in 1 of 1 run" : "in 0 of 1 run"));
}

TEST_CASE("long table: commas stand in quotes") {
  LongTable table({"norm", "lr", "converged"});
  table.add({"group:groups=4,eps=1e-3", "1"}, 0);
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
