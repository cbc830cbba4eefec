// What the user of a program of one's own types first.
#include <doctest/doctest.h>

#include <cmath>
#include <type_traits>

#include "error_of.h"
#include "gradcheck.h"
#include "minbert/minbert.h"

namespace minbert::test {
namespace {

std::string printed(const Tensor& x) { return formatted("{}", x); }

struct Line : Module {
  Child<Linear> layer{this, "layer", 2, 1};
  Tensor operator()(const Tensor& x) const { return layer(x); }
};

}  // namespace

TEST_CASE("api: a tensor prints as NumPy's arrays do") {
  CHECK(printed({}) == "no tensor");
  CHECK(printed(Tensor::full({}, 2.5)) == "2.5");
  CHECK(printed(Tensor::from({3}, {1, 2, 3})) == "[1, 2, 3]");
  CHECK(printed(Tensor::from({2, 2}, {1, -2, 0.5, 1e-9})) == "[[    1,    -2],\n [  0.5, 1e-09]]");
  CHECK(printed(Tensor::from({2, 1, 2}, {1, 2, 3, 4})) == "[[[1, 2]],\n\n [[3, 4]]]");
  CHECK(printed(Tensor::zeros({0, 3})) == "[]");
  CHECK(printed(Tensor::zeros({2000})) == "[0, 0, 0, ..., 0, 0, 0]");
}

TEST_CASE("api: x[i], slices, transpose and argmax take what NumPy's take") {
  const Tensor x = Tensor::from({2, 3}, {1, 5, 3, 6, 2, 4});
  CHECK(x[1].shape() == Shape{3});
  CHECK(x[1].values() == std::vector<real>{6, 2, 4});
  CHECK(x[1][2].item() == 4);
  CHECK(slice_rows(x, 1, 2).values() == x[1].values());
  CHECK(slice_rows(x, 1, 1).size() == 0);
  CHECK(transpose(x).values() == std::vector<real>{1, 6, 5, 2, 3, 4});
  const Indices largest = argmax(x);
  CHECK(std::vector<int32_t>(largest.begin(), largest.end()) == std::vector<int32_t>{1, 0});
  CHECK(error_of([&] { x[2]; }) == "x[2]: x is [2, 3]");
  CHECK(error_of([&] { slice_rows(x, 1, 3); }) == "slice_rows: 1..3 of 2 rows");
  gradcheck("x[i]", {normal("x", {3, 4})}, [](const Inputs& in) { return in[0][1]; });
  Tensor sum = x;
  sum += x;
  CHECK(sum.values() == (2 * x).values());
  CHECK(Tensor::randn({4}, 7).values() == Tensor::randn({4}, 7).values());
  CHECK(Tensor::randn({4}, 7).values() != Tensor::randn({4}, 8).values());
}

TEST_CASE("api: a row or a column may stand on either side") {
  const Tensor x = Tensor::from({2, 2}, {1, 2, 3, 4}), row = Tensor::from({2}, {10, 20});
  CHECK((row + x).values() == (x + row).values());
  CHECK((row * x).values() == (x * row).values());
  CHECK((row - x).values() == std::vector<real>{9, 18, 7, 16});
  CHECK(difference((row / x).values(), {10, 10, real(10) / 3, 5}) < 1e-6);
  CHECK_ERROR(x + Tensor::zeros({3}), "one must have the other's shape");
}

TEST_CASE("api: LayerNorm is a module that needs a width alone, and is the equation") {
  struct Net : Module {
    Child<LayerNorm> norm{this, "norm", 6};
  } net;
  const Parameters parameters(net, {});
  CHECK(parameters.items()[0].name == "norm.weight");
  const Tensor x = normal("x", {4, 6}), centered = x - mean_rows(x);
  const Tensor expected = centered / sqrt(mean_rows(square(centered)) + 1e-5);
  CHECK(difference(net.norm(x).values(), expected.values()) < tolerance(1e-5, 1e-12));
}

TEST_CASE("api: a forgotten child, a step without backward, a late set_trainable are errors that say what to do") {
  struct Forgetful : Module {
    Linear layer{2, 1};
  } forgetful;
  const Parameters none(forgetful, {});
  CHECK_ERROR(forgetful.layer(Tensor::zeros({1, 2})), "child(\"NAME\", module) makes it one");

  Line line;
  Parameters parameters(line, {});
  static_assert(!std::is_constructible_v<Optimizer, Parameters, OptimizerOptions>);      // it would dangle
  static_assert(std::is_constructible_v<Optimizer, Parameters&, OptimizerOptions>);
  Optimizer optimizer(parameters, {});
  CHECK(error_of([&] { optimizer.step(0.1); }) == "step: no parameter has a gradient; call backward(loss) first");
  parameters.set_trainable([](const std::string& name) { return name == "layer.bias"; });
  backward(sum(line(Tensor::full({1, 2}, 1))));
  CHECK_ERROR(optimizer.step(0.1), "set_trainable() came after this Optimizer was made");
}

TEST_CASE("api: groups of parameters have rates of their own") {
  Line line;
  const Parameters parameters(line, {});
  const auto rate = [](const std::string& name) { return name == "layer.bias" ? 0.5 : 0; };
  Optimizer optimizer(parameters, {.kind = OptimizerKind::sgd, .weight_decay = 0.1, .rate = rate});
  const std::vector<real> weight = parameters.value("layer.weight").values();
  backward(sum(line(Tensor::full({1, 2}, 1))));
  optimizer.step(0.1);
  CHECK(parameters.value("layer.weight").values() == weight);
  CHECK(parameters.value("layer.bias").item() == doctest::Approx(-0.05));
}

TEST_CASE("api: gradient_error finds a wrong backward") {
  const Tensor x = normal("x", {5}, 1, 0.1);
  CHECK(gradient_error([&] { return x * tanh(x); }, {x}) < (is_double ? 1e-6 : 1));
  const auto wrong = [&] {
    const Tensor u = x.detach();                    // the derivative is 3 u^2
    return record("cube", u * u * u, {x}, [u](const Tensor& dy, Grads& g) { g.pass(0, dy * square(u)); });
  };
  CHECK(gradient_error(wrong, {x}) > 0.5);
}

}  // namespace minbert::test
