// Items of the documents that no other test holds by itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "error_of.h"
#include "lone_norm.h"
#include "minbert/files.h"
#include "minbert/metrics.h"
#include "minbert/shipped.h"
#include "runs/comparison.h"
#include "report/measured.h"
#include "report/paper.h"
#include "report/verdict.h"
#include "small_run.h"

namespace minbert::test {
namespace {

using Vector = std::vector<double>;

// What a trained model's head puts out for each example, row by row.
Tensor logits_of(TrainedModel& m, const TaskData& data, const Dataset& set) {
  std::vector<int32_t> all;
  for (size_t i = 0; i < set.examples.size(); ++i) all.push_back(int32_t(i));
  const int head = m.model.network.task_id(data.task.name);
  return m.model.network.forward(labeled(set, all, {head}).batch, head);
}

double accuracy_of(TrainedModel& m, const TaskData& data, const Dataset& set) {
  const Tensor y = logits_of(m, data, set);
  double right = 0;
  for (size_t i = 0; i < set.examples.size(); ++i) {
    const real* row = y.data() + int64_t(i) * y.cols();
    right += std::max_element(row, row + y.cols()) - row == int64_t(set.examples[i].label);
  }
  return 100 * right / double(set.examples.size());
}

double spread(const Vector& values) {               // their standard deviation
  return summarize(values).deviation;
}

}  // namespace

TEST_CASE("papers: a run trains SST, then Quora, then STS in every epoch, by one optimizer [CLN loop]") {
  SmallWorld world;
  TrainOptions o = world.options();
  CHECK(o.tasks == "sst,quora,sts");
  world.run(o, "run");
  const auto order = [&](const char* run) {
    std::string tasks;
    const auto rows = csv(world.path(formatted("{}/steps.csv", run)));
    for (size_t i = 1; i < rows.size(); ++i) tasks += rows[i][1] + " ";
    return tasks;
  };
  const std::string epoch = "sst sst sst quora quora quora sts sts ";           // 10, 9 and 7 rows in batches of 4
  CHECK(order("run") == epoch + epoch);
  o.tasks = "sts,sst", o.epochs = 1;                // another order than the document's is one's own
  world.run(o, "other");
  CHECK(order("other") == "sts sts sst sst sst ");

  // One optimizer: one first moment, over the parameters of the encoder and of all heads.
  const Quiet quiet;
  const TrainedModel trained(world.path("run"));
  const SafeTensors state(world.path("run/state.safetensors"));
  CHECK(int64_t(state.read("optimizer.first").size()) >= trained.model.parameters.count());
}

TEST_CASE("papers: the losses of a run are cross-entropy, binary cross-entropy and mean squared error [CLN losses]") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 1, o.batch = 100, o.accumulate = 1, o.lr = 1e-30, o.weight_decay = o.dropout = o.encoder_dropout = 0;
  world.run(o, "run");                              // a step a task, and none of them moves anything
  const auto rows = csv(world.path("run/steps.csv"));
  REQUIRE(rows.size() == 1 + 3);
  const Quiet quiet;
  TrainedModel trained(world.path("run"));
  const Experiment experiment(o);
  for (size_t task = 0; task < 3; ++task) {
    const TaskData& data = experiment.data()[task];
    INFO(data.task.name);
    const Tensor z = logits_of(trained, data, data.train);
    double loss = 0;
    for (int64_t i = 0; i < z.rows(); ++i) {
      const double label = data.train.examples[size_t(i)].label;
      const real* row = z.data() + i * z.cols();
      if (task == 0) {                               // -log of the label's softmax
        double sum = 0;
        for (int64_t c = 0; c < z.cols(); ++c) sum += std::exp(double(row[c]));
        loss -= std::log(std::exp(double(row[int64_t(label)])) / sum);
      } else if (task == 1) {
        const double p = 1 / (1 + std::exp(-double(row[0])));
        loss -= label * std::log(p) + (1 - label) * std::log(1 - p);
      } else {
        loss += std::pow(double(row[0]) - label, 2);
      }
    }
    CHECK(std::stod(rows[1 + task][2]) == doctest::Approx(loss / double(z.rows())).epsilon(1e-4));
  }
}

TEST_CASE("papers: a claim's printed effect is the one of the printed table [IsoBN tab.1-2] [TA tab.1-2]") {
  const std::map<std::string, std::string> names = {{"BERT-base-cased", "BERT-base"}};   // in the table
  size_t compared = 0;
  const auto compare = [&](const PaperItem& item, const Json& claim, const std::string& model) {
    const std::optional<double> effect = claim_of(claim, model).printed;
    if (!effect) return;
    LongTable::Where of_model = {{"model", names.contains(model) ? names.at(model) : model}};
    if (std::ranges::count(item.printed.columns(), "statistic"))
      of_model["statistic"] = item.printed.only({{"statistic", "mean"}}).rows().empty() ? "median" : "mean";
    const auto mean = [&](const Json& side) {
      LongTable::Where where = of_model;
      for (const auto& [column, value] : side.members()) where[column] = value.string();
      LongTable found = item.printed.only(where);
      Numbers values;
      for (const LongTable::Row& row : found.rows())
        if (row.keys[1] != "average") values.push_back(*row.value);
      return summarize(values).mean;
    };
    INFO(claim["text"].string());
    CHECK(mean(claim["more"]) - mean(claim["less"]) == doctest::Approx(*effect).epsilon(1e-3));
    ++compared;
  };
  for (const char* document : {"isobn", "task-adaptation"}) {
    const Paper paper(document);
    for (const char* name : {"tab1", "tab2"})
      for (const Json& claim : paper.item(name).claims)
        for (const std::string model : {"BERT-base-cased", "RoBERTa-large", "BERT-base", "BERT-large-wwm"})
          if (claim.has("printed") && (claim["printed"].is_object() || claim.get("model", std::string()) == model))
            compare(paper.item(name), claim, model);
  }
  CHECK(compared == 2 * (8 + 7) + 23 + 9);
}

TEST_CASE("papers: every norm of the encoder is conditional on the task [CLN replaces]") {
  MultitaskBert model(tiny_config("conditional-layer"), three_heads(), 0);
  Parameters parameters(model, {});
  randomise(parameters);
  backward(sum(model.forward(pack(sentences({3, 5, 2}), {1}), 1)));
  std::set<std::string> norms;
  for (const Parameter& item : parameters.items()) {
    if (!contains(item.name, ".task_")) continue;
    INFO(item.name);
    norms.insert(item.name.substr(0, item.name.rfind('.')));
    const std::vector<real> grad = item.value.grad().values();
    for (size_t task = 0; task < 3; ++task) {
      double size = 0;
      for (size_t i = 0; i < 8; ++i) size += std::abs(double(grad[task * 8 + i]));
      CHECK((size > 0) == (task == 1));
    }
  }
  std::set<std::string> expected = {"bert.embeddings.LayerNorm"};
  for (const std::string layer : {"bert.encoder.layer.0.", "bert.encoder.layer.1."})
    expected.insert({layer + "attention.output.LayerNorm", layer + "output.LayerNorm"});
  CHECK(norms == expected);
}

TEST_CASE("papers: the tables of --compare are mean and deviation of what its models score [CLN tab.train]") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "sst", o.compare = true, o.seeds = 3, o.lr = 0.03, o.out = world.path("compared");
  const Quiet quiet;
  const Experiment experiment(o);
  CHECK(compare(experiment, variants_of(o), no_command_line()) == 0);
  const std::string printed = quiet.text();
  const TaskData& data = experiment.data()[0];
  for (const auto& [title, set] : {std::pair("Training metrics", &data.train), {"Dev metrics", &data.dev[0]}}) {
    const size_t line = printed.find("SST (accuracy, %)", printed.find(title));
    const std::string cells = printed.substr(line, printed.find('\n', line) - line);
    size_t from = 0;
    for (const std::string norm : {"layer", "conditional-layer"}) {
      Vector scores;
      for (int seed = 0; seed < 3; ++seed) {
        TrainedModel m(formatted("{}/{}/seed-{}", o.out, norm, o.seed + seed));
        scores.push_back(accuracy_of(m, data, *set));
      }
      char cell[40];
      std::snprintf(cell, sizeof cell, "%.2f ± %.2f", summarize(scores).mean, spread(scores));
      INFO(cells << " has no " << cell);
      from = cells.find(cell, from);
      CHECK(from != cells.npos);
    }
  }
}

TEST_CASE("papers: --compare prints the document's numbers beside ours, and what it leaves open [CLN tab.test]") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.tasks = "sst,quora,sts,cfimdb", o.compare = o.from_scratch = true, o.epochs = 1, o.out = world.path("beside");
  const Experiment experiment(o);
  const Quiet quiet;
  CHECK(compare(experiment, variants_of(o), no_command_line()) == 0);
  const std::string text = quiet.text();
  const size_t training = text.find("\nTraining metrics"), dev = text.find("\nDev metrics");
  REQUIRE(dev != text.npos);
  const auto last_words = [&](size_t table, const std::string& row, int count) {         // of a row: the paper's
    const size_t line = text.find("\n  " + row, table) + 1;
    std::istringstream in(text.substr(line, text.find('\n', line) - line));
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return std::vector<std::string>(words.end() - count, words.end());
  };
  const auto row = [&](size_t table, const std::string& name, const std::vector<std::string>& printed) {
    INFO(name);
    CHECK(last_words(table, name, int(printed.size())) == printed);
  };
  row(training, "", {"paper,", "layer", "paper,", "conditional-layer"});
  row(training, "SST (accuracy, %)", {"96.39", "97.89"});
  row(training, "Quora (accuracy, %)", {"91.60", "95.73"});
  row(training, "STS (Pearson)", {"0.3734", "0.9248"});
  row(training, "CFIMDB (accuracy, %)", {"-", "-"});
  row(dev, "", {"word", "counts", "paper,", "conditional-layer"});                       // no test score without CLN
  row(dev, "SST (accuracy, %)", {"62.43"});
  row(dev, "Quora (accuracy, %)", {"-"});
  row(dev, "STS (Pearson)", {"0.5478"});
  CHECK(contains(text, "The document gives no learning rate"));
  CHECK(contains(text, "62.43, is no target"));

  o.tasks = "cfimdb", o.out = world.path("alone");
  const Quiet alone;
  compare(Experiment(o), variants_of(o), no_command_line());
  CHECK_FALSE(contains(alone.text(), "paper,"));

  const Paper paper("cln");
  int claims = 0;
  for (const Json& claim : paper.item("train").claims) {                                 // follows from its numbers
    const LongTable& printed = paper.item("train").printed;
    const auto value = [&](const char* side) {
      return printed.values({{"norm", claim[side]["norm"].string()}, {"task", claim[side]["task"].string()}}).at(0);
    };
    CHECK(value("more") > value("less"));
    ++claims;
  }
  CHECK(claims == 3);
}

TEST_CASE("papers: layer-simple, variance-only and none as plain loops [LN-PEFT app.A.simple] [NT norm.none]") {
  const Tensor x = normal("x", {8, 6}, 2);
  for (const std::string name : {"layer-simple", "variance-only", "none"}) {
    INFO(name);
    const Lone lone(name);
    const Tensor y = (*lone.norm)(x, three_sentences({}));
    for (int64_t row = 0; row < 8; ++row) {
      const real* r = x.data() + row * 6;
      double mu = 0, variance = 0;
      for (int64_t i = 0; i < 6; ++i) mu += double(r[i]) / 6;
      for (int64_t i = 0; i < 6; ++i) variance += std::pow(double(r[i]) - mu, 2) / 6;
      const double sigma = std::sqrt(variance + 1e-12);
      for (int64_t i = 0; i < 6; ++i) {
        double expected = double(r[i]);
        if (name == "layer-simple") expected = (expected - mu) / sigma;
        if (name == "variance-only")
          expected = expected / sigma * double(lone.find("weight").data()[i]) + double(lone.find("bias").data()[i]);
        CHECK(double(y.data()[row * 6 + i]) == doctest::Approx(expected).epsilon(tolerance(1e-5, 1e-12)));
      }
    }
  }
}

// The second shortcoming is of recurrent networks, which are not here.
TEST_CASE("papers: batch normalization's shortcomings, which LayerNorm has not [LN-PEFT app.A.shortcomings]") {
  const int64_t H = 6;
  const Tensor mine = normal("mine", {1, H});
  for (const std::string name : {"batch", "layer"}) {
    INFO(name);
    const bool by_batch = name == "batch";
    const Lone lone(name);
    lone.norm->train();
    const auto together = [&](int64_t rows, const std::string& stream) {       // my token first, others behind it
      Tensor x = normal(stream, {rows, H});
      std::copy(mine.data(), mine.data() + H, x.data());
      return x;
    };
    const auto normalized = [&](const Tensor& x) { return (*lone.norm)(x, pack(sentences({int(x.rows())}))); };

    // 1. The smaller the batch, the more the result for one token varies with the tokens beside it.
    const auto variation = [&](int64_t rows) {
      Vector values;
      for (int draw = 0; draw < 200; ++draw)
        values.push_back(double(normalized(together(rows, formatted("{} of {}", draw, rows))).data()[1]));
      return spread(values);
    };
    const double small = variation(4), large = variation(64);
    if (by_batch) CHECK(small > 2 * large);
    else CHECK(small == 0);
    CHECK((large > 0) == by_batch);

    // 3. Training and evaluation differ.
    const Tensor x = together(16, "evaluated");
    const std::vector<real> trained = normalized(x).values();
    lone.norm->train(false);
    CHECK((normalized(x).values() == trained) == !by_batch);
    lone.norm->train();

    // 4. The examples of a batch depend on each other: my result alone sends a gradient to other tokens.
    Tensor input = x.detach();
    const Tensor y = normalized(input.set_requires_grad(true));
    std::vector<real> direction(size_t(x.size()), 0);
    direction[1] = 1;
    backward(y, Tensor::from(x.shape(), direction));
    const std::vector<real> all = input.grad().values(), others(all.begin() + H, all.end());
    CHECK((largest(others) > 0) == by_batch);
  }

  // 5. In a deep network as it starts the gradient explodes (Yang et al. 2019).
  const int64_t width = 32, rows = 16;
  const auto growth = [&](bool by_batch, int depth) {
    Tensor x = normal("deep", {rows, width});
    Tensor h = x.set_requires_grad(true);
    for (int layer = 0; layer < depth; ++layer) {
      const Tensor z = matmul_nt(h, normal(formatted("W{}", layer), {width, width}, std::sqrt(2. / width)));
      const auto norm = norms().make(by_batch ? "batch" : "layer:eps=1e-5", {width});
      const Parameters weights(*norm, {});
      norm->train();
      h = relu((*norm)(z));
    }
    backward(h, normal("dy", {rows, width}));
    double squares = 0;
    for (const real g : x.grad().values()) squares += double(g) * double(g);
    return std::sqrt(squares);
  };
  CHECK(growth(true, 40) > 100 * growth(true, 1));
  CHECK(growth(false, 40) < 10 * growth(false, 1));
}

TEST_CASE("papers: GLUE's tasks have the metrics of table 4 [LN-PEFT tab.4]") {
  for (const auto& [task, metric] : {std::pair("qnli", Metric::accuracy), {"sst2", Metric::accuracy},
                                     {"mnli", Metric::accuracy}, {"cola", Metric::matthews}, {"mrpc", Metric::f1},
                                     {"stsb", Metric::spearman}, {"rte", Metric::accuracy}, {"qqp", Metric::f1}}) {
    INFO(task);
    CHECK(measures(parse_tasks(task)[0])[0].metric == metric);
  }
}

TEST_CASE("papers: what README files show of shipped values is what study_index prints of them") {
  const std::vector<StudyReport> studies = measured_reports(shipped("data/papers/measured"));
  int blocks = 0;
  for (const char* file : {"README.md", "examples/papers/README.md"}) {
    const std::string text = read_file(file), begin = "<!-- measured ", end = "<!-- end -->";
    for (size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1), ++blocks) {
      const size_t line = text.find('\n', at);
      std::istringstream names(text.substr(at + begin.size(), line - at - begin.size()));
      std::string document, item, on;
      names >> document >> item >> on;
      if (on == "-->") on.clear();
      INFO(file << ": " << document << " " << item);
      CHECK(text.substr(line + 1, text.find(end, line) - line - 1) == measured_markdown(studies, document, item, on));
    }
  }
  CHECK(blocks > 0);
  CHECK(contains(error_of([&] { measured_markdown(studies, "cln", "tab9"); }), "no study of cln has tab9"));
  CHECK(contains(error_of([&] { measured_markdown(studies, "cln", "test", "large"); }), "has test on large"));
}

}  // namespace minbert::test
