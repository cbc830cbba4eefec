// What conditional LayerNorm is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "lone_norm.h"
#include "minbert/optimizer.h"

namespace minbert::test {
namespace {

// AdamW, number by number.
struct Recurrence {
  double p, m = 0, v = 0;
  void step(double g, int t, double lr) {
    m = 0.9 * m + 0.1 * g, v = 0.999 * v + 0.001 * g * g;
    p -= lr * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-6);
  }
};

}  // namespace

TEST_CASE("norm: conditional LayerNorm is weight (γ+γ_t) and bias (β+β_t) on LayerNorm's x-hat [CLN eq.4]") {
  const auto norm = norms().make("conditional-layer", {6, 3, 1e-12});
  Parameters parameters(*norm, {});
  randomise(parameters);
  const Tensor x = normal("x", {8, 6});
  const Batch batch = three_sentences(tasks_of_sentences);
  const Tensor y = (*norm)(x, batch),
      xhat = layer_norm(x, Tensor::full({6}, 1), Tensor::zeros({6}), 1e-12);
  const auto at = [&](const char* name) { return parameters.value(name).data(); };
  for (int64_t r = 0; r < 8; ++r)
    for (int64_t i = 0; i < 6; ++i) {
      const int64_t of_task = batch.row_task[r] * 6 + i;
      const real gain = at("weight")[i] + at("task_weight")[of_task],
          bias = at("bias")[i] + at("task_bias")[of_task];
      CHECK(y.data()[6 * r + i] ==
          doctest::Approx(double(xhat.data()[6 * r + i] * gain + bias)).epsilon(1e-5));
    }
}

TEST_CASE("norm: conditional LayerNorm is one kernel behind two sums, and without a task the kernel alone") {
  const Lone lone("conditional-layer");
  const auto tape_of = [&](const Indices& task) {
    (void)(*lone.norm)(normal("x", {8, 6}), three_sentences(task));
    std::ostringstream tape;
    print_tape(tape);
    clear_tape();
    return tape.str();
  };
  for (const auto& [task, operations] : {std::pair(tasks_of_sentences, 3), {Indices(), 1}}) {
    const std::string tape = tape_of(task);
    INFO(tape);
    CHECK(std::ranges::count(tape, '>') == operations);
    CHECK(contains(tape, "layer_norm -> [8, 6]"));
  }
}

TEST_CASE("norm: each task's parameters receive gradients from the rows of that task only") {
  const auto norm = norms().make("conditional-layer", {6, 3, 1e-12});
  Parameters parameters(*norm, {});
  randomise(parameters);
  // no row of task 1; row 3 is all of task 0
  const Batch batch = three_sentences(tasks_of_sentences);
  const Tensor c = normal("c", {8, 6});
  backward((*norm)(normal("x", {8, 6}), batch), c);
  const Tensor d_bias = parameters.value("task_bias").grad(),
      d_gain = parameters.value("task_weight").grad();
  for (int64_t i = 0; i < 6; ++i) {
    CHECK(d_bias.data()[i] == c.data()[18 + i]);
    CHECK(d_bias.data()[6 + i] == 0);
    CHECK(d_gain.data()[6 + i] == 0);
    CHECK(d_bias.data()[12 + i] != 0);
  }
}

TEST_CASE("norm: BERT-base gains 25 norms x 3 tasks x 2 x 768 = 115,200 parameters [CLN fact.parameters]") {
  CHECK(base_parameters("layer") == 109482240);     // bert-base-uncased without its pre-training heads
  CHECK(base_parameters("conditional-layer") - base_parameters("layer") == 115200);
}

TEST_CASE("norm: at its start a conditional model equals plain BERT bit for bit, on every task [CLN fact.start]") {
  MultitaskBert plain(tiny_config("layer"), three_heads(), 0),
      conditional(tiny_config("conditional-layer"), three_heads(), 0);
  Parameters p(plain, {}), c(conditional, {});
  CHECK(c.count() - p.count() == 5 * 3 * 2 * 8);
  // two models that differ in the norm share every other number
  for (const Parameter& item : p.items()) {
    INFO(item.name);
    CHECK(c.value(item.name).values() == item.value.values());
  }
  const Batch without = three_sentences({}), mixed = three_sentences(tasks_of_sentences),
      one = three_sentences({1});
  for (int head = 0; head < 3; ++head) {
    const std::vector<real> expected = plain.forward(without, head).values();
    for (const Batch& batch : {without, mixed, one})
      CHECK(conditional.forward(batch, head).values() == expected);
  }
}

TEST_CASE("norm: a batch of mixed tasks equals its sentences run separately") {
  MultitaskBert model(tiny_config("conditional-layer"), three_heads(), 0);
  Parameters parameters(model, {});
  randomise(parameters);
  const std::vector<Sequence> all = sentences({3, 1, 4});
  const std::vector<real> together = model.forward(pack(all, tasks_of_sentences), 0).values();
  std::vector<real> apart;
  for (size_t i = 0; i < 3; ++i) {
    const Batch alone = pack({&all[i], 1}, {tasks_of_sentences[int64_t(i)]});
    const std::vector<real> one = model.forward(alone, 0).values();
    apart.insert(apart.end(), one.begin(), one.end());
  }
  CHECK(difference(together, apart) < tolerance(1e-5, 1e-13));
  CHECK(difference(together, model.forward(pack(all, {1}), 0).values()) > 1e-3);     // tasks do differ
}

TEST_CASE("norm: AdamW moves a task's gain and bias on by their moments while another task trains, its head never") {
  MultitaskBert model(tiny_config("conditional-layer"), three_heads(), 0);
  Parameters parameters(model, {});
  Optimizer optimizer(parameters, {.weight_decay = 0.1});
  const double lr = 0.01;
  const std::vector<Sequence> texts = sentences({3, 5, 4});
  const auto values = [&](const std::string& name) { return parameters.value(name).values(); };
  const std::string norm = "bert.encoder.layer.1.output.LayerNorm.task_";
  std::map<std::string, std::vector<Recurrence>> rows;               // row 0 of each, 8 numbers
  for (const char* name : {"weight", "bias"}) rows[norm + name].assign(8, {0});
  std::map<std::string, std::vector<real>> at_rest;
  int t = 0;
  const auto steps = [&](int task, int count) {
    for (int i = 0; i < count; ++i) {
      backward(mean(square(model.forward(pack(texts, {task}), task))));
      ++t;
      for (auto& [name, row] : rows) {
        const std::vector<real> g = parameters.value(name).grad().values();
        for (size_t k = 0; k < 8; ++k) {
          if (task != 0) CHECK(g[k] == 0);
          row[k].step(double(g[k]), t, lr);
        }
      }
      optimizer.step(lr);
    }
  };
  steps(0, 3);
  for (const char* name : {"heads.sst.weight", "heads.sst.bias"}) at_rest[name] = values(name);
  const std::map<std::string, std::vector<Recurrence>> before = rows;
  steps(1, 6);
  for (const auto& [name, row] : rows) {
    INFO(name);
    const std::vector<real> now = values(name);
    double own = 0, further = 0;                    // how far its own steps moved it, and the other task's
    for (size_t k = 0; k < 8; ++k) {
      CHECK(double(now[k]) == doctest::Approx(row[k].p).epsilon(tolerance(1e-4, 1e-9)));
      own += std::abs(before.at(name)[k].p), further += std::abs(row[k].p - before.at(name)[k].p);
    }
    CHECK(further > 0.9 * own);
    for (size_t k = 16; k < 24; ++k) CHECK((now[k] == 0 && !std::signbit(now[k])));    // task 2 never trained
  }
  for (const auto& [name, bits] : at_rest) CHECK(values(name) == bits);
}

}  // namespace minbert::test
