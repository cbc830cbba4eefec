// Optimizers against PyTorch and the course's own fixture; clipping; the schedule of the learning rate.
#include <doctest/doctest.h>

#include <cstdlib>

#include "engine/names.h"
#include "golden_file.h"
#include "gradcheck.h"
#include "minbert/json.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "minbert/safetensors.h"
#include "real_data.h"

namespace minbert::test {
namespace {

// Three parameters.
struct Three : Module {
  Three() {
    parameter("weight", {3, 4}, Init::random);
    parameter("bias", {4}, Init::zeros, Decay::no);
    parameter("head", {2, 3}, Init::ones);
  }
};

std::vector<real> last_six(const Tensor& t) {
  const std::vector<real> all = t.values();
  return {all.end() - 6, all.end()};
}

struct Model {
  Three module;
  Parameters parameters{module, {}};
  const Tensor& operator[](const std::string& name) const { return parameters.value(name); }
};

const std::vector<std::string> names = {"weight", "bias", "head"};

std::vector<OptimizerKind> every_kind() {
  std::vector<OptimizerKind> kinds;
  for (const std::string& name : choices<OptimizerKind>()) kinds.push_back(choice<OptimizerKind>(name, ""));
  return kinds;
}

}  // namespace

TEST_CASE("optimizer: 20 steps of AdamW and SGD are PyTorch's") {
  const SafeTensors file(golden_file("optimizer.safetensors"));     // made by golden/reference.py
  const std::vector<std::pair<std::string, OptimizerOptions>> cases = {
      {"adamw", {.kind = OptimizerKind::adamw}},
      {"adamw-decay", {.kind = OptimizerKind::adamw, .weight_decay = 0.1}},
      {"sgd", {.kind = OptimizerKind::sgd}},
      {"sgd-momentum-decay", {.kind = OptimizerKind::sgd, .weight_decay = 0.1, .momentum = 0.9}}};
  for (const auto& [name, options] : cases) {
    INFO(name);
    Model model;
    for (const std::string& weight : names) model[weight].copy_from(file.read("start." + weight));
    Optimizer optimizer(model.parameters, options);
    for (int step = 0; step < 20; ++step) {
      for (const std::string& weight : names) {
        const std::vector<real> all = file.read("gradients." + weight);
        const auto begin = all.begin() + step * model[weight].size();
        if (weight != "head" || step % 3 == 0) give_gradient(model[weight], {begin, begin + model[weight].size()});
      }
      optimizer.step(0.01 * (1 + step / 10.0));
    }
    for (const std::string& weight : names)
      CHECK(difference(model[weight].values(), file.read(name + "." + weight)) < tolerance(2e-6, 1e-7));
  }
}

TEST_CASE("optimizer: the course's AdamW reproduces its fixture") {
  const char* folder = real_data("the course's AdamW");
  if (!folder) return;
  const Json fixture = Json::load(std::string(folder) + "/course/adamw_fixture.json");
  const auto numbers = [](const Json& rows) {
    std::vector<real> values;
    for (const Json& row : rows.items())
      for (const Json& v : row.items()) values.push_back(real(v.number()));
    return values;
  };
  struct Linear23 : Module {
    Linear23() { parameter("weight", {2, 3}, Init::zeros); }
  } module;
  Parameters parameters(module, {});
  const Tensor& w = parameters.items()[0].value;
  w.copy_from(numbers(fixture["w0"]));
  Optimizer optimizer(parameters, {.kind = OptimizerKind::adamw_course, .weight_decay = 1e-4});
  for (const Json& input : fixture["x"].items()) {
    const std::vector<real> x = numbers(Json::array({input}));
    const Tensor y = Tensor::from({1, 2}, std::vector<real>{x[0] + x[1], -x[2]});
    backward(sum(square(sub(matmul_nt(Tensor::from({1, 3}, x), w), y))));
    optimizer.step(1e-3);
  }
  const std::vector<real> expected = numbers(fixture["w_expected"]);
  for (size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(w.values()[i] - expected[i]) < 1e-5);
}

TEST_CASE("optimizer: the forms of AdamW differ in epsilon's place and in when they decay") {
  const std::vector<real> g = {real(1e-4), -2, 3, 4};
  const double lr = 0.1, wd = 0.5, eps = 1e-6, p = 0.5;
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adamw_course}) {
    INFO(kind);
    struct One : Module {
      One() { parameter("p", {4}, Init::zeros); }
    } module;
    Parameters parameters(module, {});
    const Tensor& value = parameters.items()[0].value;
    value.copy_from(std::vector<real>(4, real(p)));
    Optimizer optimizer(parameters, {.kind = kind, .weight_decay = wd});
    give_gradient(value, g);
    optimizer.step(lr);
    for (size_t i = 0; i < 4; ++i) {               // in the first step mhat = g and vhat = g^2
      const double x = double(g[i]), root = std::sqrt(0.001);
      const double plain = p - lr * wd * p - lr * x / (std::abs(x) + eps);
      const double course = (p - lr * root * x / (root * std::abs(x) + eps)) * (1 - lr * wd);
      CHECK(double(value.values()[i]) == doctest::Approx(kind == OptimizerKind::adamw ? plain : course).epsilon(1e-6));
    }
  }
}

TEST_CASE("optimizer: without a gradient a parameter and its moments stay as they are") {
  for (const OptimizerKind kind : every_kind()) {
    INFO(kind);
    Model model;
    Optimizer optimizer(model.parameters, {.kind = kind, .weight_decay = 0.1, .momentum = 0.9});
    for (const std::string& p : names)
      give_gradient(model[p], std::vector<real>(size_t(model[p].size()), real(0.5)));
    optimizer.step(0.1);
    const std::vector<real> head = model["head"].values(), weight = model["weight"].values();
    std::vector<std::vector<real>> moments;
    for (const auto& [name, values] : optimizer.moments()) moments.push_back(last_six(values));
    for (int i = 0; i < 3; ++i) {
      give_gradient(model["weight"], std::vector<real>(12, 1));
      optimizer.step(0.1);
    }
    CHECK(model["head"].values() == head);
    CHECK(model["weight"].values() != weight);
    for (size_t i = 0; i < moments.size(); ++i) CHECK(last_six(optimizer.moments()[i].second) == moments[i]);
    CHECK(optimizer.steps() == std::vector<int64_t>{4, 1, 1});
  }
}

TEST_CASE("optimizer: each goes down a valley from both sides, and a rate of 0 keeps a parameter where it is") {
  // L = Σ a/2 (p - t)²     dL/dp = a (p - t)     t: 1 and -1 in turn     a: 1 to 2.1
  const auto valley = [](const Tensor& p) {
    std::vector<real> gradient = p.values();
    double loss = 0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      const double a = 1 + 0.1 * double(i), distance = double(gradient[i]) - (i % 2 == 0 ? 1 : -1);
      gradient[i] = real(a * distance);
      loss += a / 2 * distance * distance;
    }
    return std::pair(loss, gradient);
  };
  for (const OptimizerKind kind : every_kind()) {
    INFO(kind);
    Model model;
    const auto rate = [](const std::string& name) { return name == "head" ? 0 : 1; };
    Optimizer optimizer(model.parameters, {.kind = kind, .rate = rate});
    const Tensor p = model["weight"];
    const std::vector<real> head = model["head"].values();
    const double first_loss = valley(p).first;
    for (int step = 0; step < 40; ++step) {
      const std::vector<real> before = p.values(), gradient = valley(p).second;
      give_gradient(p, gradient);
      give_gradient(model["head"], {1, 2, 3, 4, 5, 6});
      optimizer.step(0.1 * (1 - step / 40.0));
      for (size_t i = 0; i < before.size() && step == 0; ++i)
        CHECK((p.values()[i] - before[i]) * gradient[i] < 0);
    }
    CHECK(valley(p).first < first_loss / 4);
    CHECK(model["head"].values() == head);
  }
}

TEST_CASE("optimizer: each one's decay brings weights nearer to 0, and leaves biases alone") {
  for (const OptimizerKind kind : every_kind()) {
    INFO(kind);
    Model model;
    Optimizer optimizer(model.parameters, {.kind = kind, .weight_decay = 0.5});
    model["bias"].copy_from(std::vector<real>(4, 1));
    const std::vector<real> before = model["weight"].values();
    give_gradient(model["weight"], std::vector<real>(12, 0));
    give_gradient(model["bias"], std::vector<real>(4, 0));
    optimizer.step(0.1);
    for (size_t i = 0; i < before.size(); ++i)     // 1 - lr wd
      CHECK(model["weight"].values()[i] == doctest::Approx(0.95 * before[i]));
    CHECK(model["bias"].values() == std::vector<real>(4, 1));
  }
}

TEST_CASE("optimizer: a frozen parameter has neither moments nor decay") {
  Model model;
  model.parameters.set_trainable([](const std::string& name) { return name == "bias"; });
  Optimizer optimizer(model.parameters, {.weight_decay = 0.1});
  CHECK(optimizer.moments()[0].second.size() == 4);
  const std::vector<real> weight = model["weight"].values();
  give_gradient(model["bias"], {1, 2, 3, 4});
  optimizer.step(0.1);
  CHECK(model["weight"].values() == weight);
  CHECK(model["bias"].values()[0] == doctest::Approx(-0.1).epsilon(1e-5));
}

TEST_CASE("optimizer: clipping scales all gradients together, and only when they are too long") {
  for (const double most : {0.0, 1.0, 6.5, 100.0}) {       // the norm of (3, 4, 0, 12) is 13; 0: off
    Model model;
    Optimizer optimizer(model.parameters, {.kind = OptimizerKind::sgd});
    give_gradient(model["bias"], {3, 4, 0, 0});
    give_gradient(model["head"], {12, 0, 0, 0, 0, 0});
    optimizer.clip(most);
    CHECK(optimizer.gradient_norm() == doctest::Approx(13));
    optimizer.step(1);
    const double factor = most > 0 ? std::min(1.0, most / 13) : 1;
    CHECK(model["bias"].values()[1] == doctest::Approx(-4 * factor));
    CHECK(model["head"].values()[0] == doctest::Approx(1 - 12 * factor));
    give_gradient(model["bias"], {1, 0, 0, 0});    // the next step is not scaled
    optimizer.step(1);
    CHECK(model["bias"].values()[0] == doctest::Approx(-3 * factor - 1));
    const std::vector<real> before = model["bias"].values();
    give_gradient(model["bias"], {0, 0, 0, 0});
    optimizer.clip(most);                          // a norm of 0
    optimizer.step(1);
    CHECK(model["bias"].values() == before);
  }
}

TEST_CASE("optimizer: the schedule rises over the warm-up, falls to 0 behind the last step, and is never 0") {
  const auto factors = [](Schedule schedule, double warmup) {
    std::vector<double> list;
    for (int step = 0; step < 10; ++step) list.push_back(schedule_factor(schedule, step, 10, warmup));
    return list;
  };
  CHECK(factors(Schedule::constant, 0) == std::vector<double>(10, 1.0));
  const std::vector<double> linear = factors(Schedule::linear, 0);
  for (int step = 0; step < 10; ++step) CHECK(linear[size_t(step)] == doctest::Approx(1 - step / 10.0));
  const std::vector<double> warm = factors(Schedule::linear, 0.3), expected = {0.25, 0.5, 0.75, 1, 6 / 7.0, 5 / 7.0};
  for (size_t i = 0; i < expected.size(); ++i) CHECK(warm[i] == doctest::Approx(expected[i]));
  CHECK(warm.back() == doctest::Approx(1 / 7.0));
  CHECK(factors(Schedule::constant, 0.3)[2] == doctest::Approx(0.75));
  CHECK(schedule_factor(Schedule::linear, 0, 1, 1.0) > 0);
  for (int step = 0; step < 4; ++step)
    CHECK(schedule_factor(Schedule::linear, step, 4, 1.0) == doctest::Approx((step + 1) / 5.0));
  CHECK(schedule_factor(Schedule::linear, 3, 10, 0.39) == 1);       // a warm-up of 3, not 4
}

TEST_CASE("choice: the names are those of the code, with - for _; an unknown one is an error that lists them") {
  CHECK(choices<Schedule>() == std::vector<std::string>{"linear", "constant"});
  CHECK(name_of(OptimizerKind::adamw_course) == "adamw-course");
  CHECK(choice<OptimizerKind>("sgd", "") == OptimizerKind::sgd);
  CHECK(formatted("{}", OptimizerKind::sgd) == "sgd");
  CHECK_THROWS_WITH_AS(choice<Schedule>("cosine", "--schedule"),
                       "--schedule: there is no \"cosine\"; valid are: linear, constant; the nearest is constant",
                       Error);
}

}  // namespace minbert::test
