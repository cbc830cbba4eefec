// Norms: every one in the table is checked; LayerNorm where numbers are hard; what conditional LayerNorm is.
#include <doctest/doctest.h>

#include "minbert/norm.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

const Indices tasks_of_sentences = {2, 0, 2};

Batch three_sentences(const Indices& task) { return pack(sentences({3, 1, 4}), task); }

// of BERT-base, from the shapes: no memory is taken
int64_t parameter_count(const std::string& norm) {
  BertConfig config;
  config.norm = norm;
  BertModel bert(config, 3);
  int64_t count = 0;
  bert.visit([&](Module& m) {
    for (const Parameter& p : m.own_parameters()) count += p.shape.size();
  });
  return count;
}

}  // namespace

TEST_CASE("norm: every norm in the table passes the gradient check, with and without task ids") {
  for (const NormEntry& entry : norm_table())
    for (const Indices& task : {Indices(), Indices{1}, tasks_of_sentences}) {
      const auto norm = make_norm(entry.name, {6, 3, 1e-12});
      Parameters parameters(*norm, {});
      randomise(parameters);
      const Batch batch = three_sentences(task);
      Inputs inputs = values_of(parameters);
      inputs.push_back(normal("x", {8, 6}));
      // Where no task is given, the tasks' parameters stay without a gradient and are left out of the check.
      if (!task)
        std::erase_if(inputs, [&](const Tensor& t) {
          return std::any_of(parameters.items().begin(), parameters.items().end(), [&](const auto& item) {
            return item.value.is(t) && item.name.starts_with("task_");
          });
        });
      const Tensor x = inputs.back();
      gradcheck(format("{}, {} task ids", entry.name, task.size()), inputs,
                [&](const Inputs&) { return norm->forward(x, batch); });
    }
}

TEST_CASE("norm: an unknown name is an error that lists the table") {
  CHECK_THROWS_WITH_AS(make_norm("batsch", {6, 3, 1e-12}),
                       doctest::Contains("the norms are: layer, conditional-layer"), Error);
}

TEST_CASE("norm: the fused layer_norm equals its equations composed of elementary operations") {
  const Inputs inputs = {normal("x", {7, 33}, 3), normal("gamma", {33}), normal("beta", {33})};
  std::vector<real> values[2];
  std::vector<std::vector<real>> gradients[2];
  for (size_t form = 0; form < 2; ++form) {
    Inputs x = inputs;
    for (Tensor& t : x) t.set_requires_grad(true);
    const Tensor y = form ? layer_norm_composed(x[0], x[1], x[2], 1e-5) : layer_norm(x[0], x[1], x[2], 1e-5);
    values[form] = y.values();
    backward(y, normal("cotangent", y.shape()));
    gradients[form] = take_gradients(x);
  }
  // a*b+c is rounded once here, twice there
  CHECK(difference(values[0], values[1]) < tolerance(2e-6, 1e-14));
  for (size_t i = 0; i < 3; ++i) CHECK(difference(gradients[0][i], gradients[1][i]) < tolerance(4e-6, 1e-14));
}

TEST_CASE("norm: a constant row gives beta, however small epsilon is") {
  const Tensor x = Tensor::full({1, 768}, real(10.1f)), gamma = Tensor::full({768}, 1),
      beta = Tensor::zeros({768});
  CHECK(largest(layer_norm(x, gamma, beta, 1e-12).values()) < tolerance(1e-6, 1e-6));
}

// E[x^2] - E[x]^2 would give a variance of 0 here: 1449^2 needs 22 bits, and float has 24.
TEST_CASE("norm: a small variance about a large mean is right") {
  std::vector<real> values;
  for (int i = 0; i < 768; ++i) values.push_back(real(1449 + (i % 2 ? 0.5 : -0.5) * std::sqrt(4 * 0.1667)));
  double mean = 0, variance = 0;                    // of the values as they are stored
  for (const real v : values) mean += double(v) / 768;
  for (const real v : values) variance += (double(v) - mean) * (double(v) - mean) / 768;
  CHECK(variance == doctest::Approx(0.1667).epsilon(1e-3));
  const Tensor y = layer_norm(Tensor::from({1, 768}, values), Tensor::full({768}, 1), Tensor::zeros({768}),
      1e-12);
  for (size_t i = 0; i < 768; ++i)
    CHECK(double(y.data()[i]) ==
        doctest::Approx((double(values[i]) - mean) / std::sqrt(variance)).epsilon(1e-4));
}

TEST_CASE("norm: conditional LayerNorm is weight (γ+γ_t) and bias (β+β_t) on LayerNorm's x-hat [CLN eq.4]") {
  const auto norm = make_norm("conditional-layer", {6, 3, 1e-12});
  Parameters parameters(*norm, {});
  randomise(parameters);
  const Tensor x = normal("x", {8, 6});
  const Batch batch = three_sentences(tasks_of_sentences);
  const Tensor y = norm->forward(x, batch),
      xhat = layer_norm(x, Tensor::full({6}, 1), Tensor::zeros({6}), 1e-12);
  const auto at = [&](const char* name) { return parameters.find(name)->value.data(); };
  for (int64_t r = 0; r < 8; ++r)
    for (int64_t i = 0; i < 6; ++i) {
      const int64_t of_task = batch.row_task[r] * 6 + i;
      const real gain = at("weight")[i] + at("task_weight")[of_task],
          bias = at("bias")[i] + at("task_bias")[of_task];
      CHECK(y.data()[6 * r + i] ==
          doctest::Approx(double(xhat.data()[6 * r + i] * gain + bias)).epsilon(1e-5));
    }
}

TEST_CASE("norm: each task's parameters receive gradients from the rows of that task only") {
  const auto norm = make_norm("conditional-layer", {6, 3, 1e-12});
  Parameters parameters(*norm, {});
  randomise(parameters);
  parameters.set_trainable([](const std::string&) { return true; });
  // no row of task 1; row 3 is all of task 0
  const Batch batch = three_sentences(tasks_of_sentences);
  const Tensor c = normal("c", {8, 6});
  backward(norm->forward(normal("x", {8, 6}), batch), c);
  const Tensor d_bias = parameters.find("task_bias")->value.grad(),
      d_gain = parameters.find("task_weight")->value.grad();
  for (int64_t i = 0; i < 6; ++i) {
    CHECK(d_bias.data()[i] == c.data()[18 + i]);
    CHECK(d_bias.data()[6 + i] == 0);
    CHECK(d_gain.data()[6 + i] == 0);
    CHECK(d_bias.data()[12 + i] != 0);
  }
}

TEST_CASE("norm: BERT-base gains 25 norms x 3 tasks x 2 x 768 = 115,200 parameters") {
  CHECK(parameter_count("layer") == 109482240);     // bert-base-uncased without its pre-training heads
  CHECK(parameter_count("conditional-layer") - parameter_count("layer") == 115200);
}

TEST_CASE("norm: at its start a conditional model equals plain BERT bit for bit, on every task") {
  MultitaskBert plain(tiny_config("layer"), three_heads(), 0),
      conditional(tiny_config("conditional-layer"), three_heads(), 0);
  Parameters p(plain, {}), c(conditional, {});
  CHECK(c.count() - p.count() == 5 * 3 * 2 * 8);
  // two models that differ in the norm share every other number
  for (const Parameters::Item& item : p.items()) {
    INFO(item.name);
    REQUIRE(c.find(item.name));
    CHECK(c.find(item.name)->value.values() == item.value.values());
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

}  // namespace minbert::test
