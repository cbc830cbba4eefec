// Fisher information against plain loops in double; the Kruskal-Wallis test.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "error_of.h"
#include "papers/statistics/fisher.h"
#include "papers/statistics/kruskal_wallis.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

// Six examples of a task, with random ids and labels of its range.
Dataset examples_of(const Task& task) {
  Dataset data{"examples.tsv", {}};
  Random random(9, "labels of " + task.name);
  for (const Sequence& s : sentences({3, 5, 4, 7, 3, 6}, "fisher")) {
    const double label = task.kind == TaskKind::regression ? 5 * random.uniform()
                                                           : double(random.below(uint64_t(task.high) + 1));
    data.examples.push_back({"", label, {s}});
  }
  return data;
}

struct TinyModel {
  std::vector<Task> tasks = parse_tasks("sst2,stsb,quora");
  MultitaskBert network;
  Parameters parameters;
  explicit TinyModel(double dropout = 0)
      : network(config(dropout), heads_of(tasks), dropout), parameters(network, {}) {
    randomise(parameters);
  }
  static BertConfig config(double dropout) {
    BertConfig c = tiny_config("layer", 8, dropout);
    c.tasks = {"sst2", "quora", "stsb"};
    return c;
  }
};

const std::vector<int32_t> all_six = {0, 1, 2, 3, 4, 5};

// log p(y|x) from the logits, in double.
double log_likelihood(const Task& task, const std::vector<real>& logits, double y) {
  if (task.kind == TaskKind::regression) return -(y - double(logits[0])) * (y - double(logits[0])) / 2;
  if (task.kind == TaskKind::binary) return -std::log1p(std::exp(y > 0 ? -double(logits[0]) : double(logits[0])));
  double sum = 0;
  for (const real x : logits) sum += std::exp(double(x));
  return double(logits[size_t(y)]) - std::log(sum);
}

}  // namespace

TEST_CASE("fisher: the head's is what plain loops over the examples give, for every kind of task") {
  TinyModel model;
  for (const Task& task : model.tasks) {
    INFO(task.name);
    const Dataset data = examples_of(task);
    const ElementValues F = fisher_information(model.network, model.parameters, task, data, all_six);
    const int head = model.network.task_id(task.name);
    const int64_t outputs = task.outputs();
    std::vector<double> weight(size_t(outputs * 8)), bias(static_cast<size_t>(outputs));
    for (const Example& e : data.examples) {
      const NoGrad no_tape;
      const Batch batch = pack(e.inputs, {head});
      const std::vector<real> h = model.network.bert().forward(batch, cls_rows).pooler_output.values();
      const std::vector<real> logits = model.network.forward(batch, head).values();
      double sum = 0;
      for (const real x : logits) sum += std::exp(double(x));
      for (int64_t o = 0; o < outputs; ++o) {
        const double x = double(logits[size_t(o)]);
        const double score = task.kind == TaskKind::regression ? e.label - x             // d log p / d logit
                             : task.kind == TaskKind::binary ? e.label - 1 / (1 + std::exp(-x))
                                                             : double(o == int64_t(e.label)) - std::exp(x) / sum;
        bias[size_t(o)] += score * score / 6;
        for (int64_t i = 0; i < 8; ++i)
          weight[size_t(o * 8 + i)] += std::pow(score * double(h[size_t(i)]), 2) / 6;
      }
    }
    const std::string name = "heads." + task.name;
    for (size_t i = 0; i < weight.size(); ++i)
      CHECK(F.at(name + ".weight")[i] == doctest::Approx(weight[i]).epsilon(1e-4));
    for (size_t i = 0; i < bias.size(); ++i) CHECK(F.at(name + ".bias")[i] == doctest::Approx(bias[i]).epsilon(1e-4));
    for (const Task& other : model.tasks)
      if (other.name != task.name) CHECK(F.at("heads." + other.name + ".bias")[0] == 0);
  }
}

TEST_CASE("fisher: every parameter's is the mean square of differences of log p, one example after the other") {
  if (!is_double) return;
  TinyModel model;
  for (const Task& task : model.tasks) {
    INFO(task.name);
    const Dataset data = examples_of(task);
    const ElementValues F = fisher_information(model.network, model.parameters, task, data, all_six);
    const int head = model.network.task_id(task.name);
    const auto log_p = [&](const Example& e) {
      const NoGrad no_tape;
      return log_likelihood(task, model.network.forward(pack(e.inputs, {head}), head).values(), e.label);
    };
    for (const Parameter& p : model.parameters.items()) {
      INFO(p.name);
      const std::vector<real> values = p.value.values();
      for (size_t i = 0; i < values.size(); i += 1 + values.size() / 5) {
        double expected = 0;
        for (const Example& e : data.examples) {
          const auto at = [&](double h) {
            std::vector<real> moved = values;
            moved[i] += real(h);
            p.value.copy_from(moved);
            return log_p(e);
          };
          const double slope = (at(1e-5) - at(-1e-5)) / 2e-5;
          expected += slope * slope / 6;
        }
        p.value.copy_from(values);
        CHECK(std::abs(F.at(p.name)[i] - expected) < 1e-6 * std::max(1e-2, expected));
      }
    }
  }
}

TEST_CASE("fisher: dropout is off, what is frozen has none, and no example is an error") {
  TinyModel model(0.5);
  const Task& task = model.tasks[1];
  const Dataset data = examples_of(task);
  model.network.train();
  const ElementValues once = fisher_information(model.network, model.parameters, task, data, all_six);
  CHECK_FALSE(model.network.training());
  CHECK(fisher_information(model.network, model.parameters, task, data, all_six) == once);
  model.parameters.set_trainable([](const std::string& name) { return name.ends_with("output.LayerNorm.weight"); });
  const ElementValues few = fisher_information(model.network, model.parameters, task, data, all_six);
  CHECK(few.size() == 4);
  for (const auto& [name, values] : few)
    for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == doctest::Approx(once.at(name)[i]).epsilon(1e-5));
  CHECK_ERROR(fisher_information(model.network, model.parameters, task, data, {}),
              "examples.tsv: the Fisher information of stsb needs 1 example or more");
}

TEST_CASE("kruskal-wallis: from the printed tables the printed p-values; ties share their ranks") {
  // [LN-PEFT tab.2], [LN-PEFT tab.3]: QNLI, SST-2, MNLI-m, MNLI-mm, CoLA, MRPC, STS-B, RTE, QQP
  std::vector<double> bitfit = {.9145, .9278, .8399, .8457, .6364, .9183, .9043, .7473, .8476};
  std::vector<double> norm = {.9072, .9312, .8285, .8348, .6412, .9130, .9039, .7401, .8361};
  const std::vector<double> bitfit_test = {.912, .928, .841, .838, .559, .877, .860, .687, .687};
  const std::vector<double> norm_test = {.910, .926, .831, .828, .542, .871, .865, .682, .669};
  CHECK(std::abs(kruskal_wallis(bitfit, norm).p - .56599) < 5e-6);
  CHECK(std::abs(kruskal_wallis(bitfit_test, norm_test).p - .62703) < 5e-6);
  // It does not see that the scores are paired: with 5 points less on every task it finds nothing, either
  std::vector<double> less = norm_test;
  for (double& score : less) score -= .05;
  CHECK(kruskal_wallis(bitfit_test, less).p > .05);
  bitfit.insert(bitfit.end(), bitfit_test.begin(), bitfit_test.end());
  norm.insert(norm.end(), norm_test.begin(), norm_test.end());
  CHECK(std::abs(kruskal_wallis(bitfit, norm).p - .54773) < 5e-6);

  // By hand: 1 2 | 2 3 has the ranks 1 2.5 | 2.5 4, H = (12/20 (3.5²/2 + 6.5²/2) - 15) / (1 - 6/60) = 1.5
  const KruskalWallis tied = kruskal_wallis({1, 2}, {2, 3});
  CHECK(tied.H == doctest::Approx(1.5));
  CHECK(tied.p == doctest::Approx(0.22067136));
  CHECK(kruskal_wallis({1, 1}, {1}).p == 1);
  CHECK(kruskal_wallis({3, 4}, {1, 2, 7}).H == doctest::Approx(kruskal_wallis({1, 2, 7}, {3, 4}).H));
  CHECK_ERROR(kruskal_wallis({1}, {}), "groups of 1 and 0 values; expected 1 or more");
}

}  // namespace minbert::test
