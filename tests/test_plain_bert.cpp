// examples/plain_bert.cpp, as it stands there: the library computes the same.
#include <doctest/doctest.h>

#define main plain_bert                             // the program, not called from here
#include "../examples/plain_bert.cpp"
#undef main
#include "golden_file.h"
#include "gradcheck.h"
#include "small_run.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

// The shipped encoder with heads of three tasks, in both forms, and what they learn from.
struct Both {
  explicit Both(int32_t steps_wanted)
      : folder(repository("data/mini")), config(BertConfig::load(folder + "/bert/config.json")),
        tasks(parse_tasks("sst,quora,sts")), steps(plain::read_steps(folder, tasks, steps_wanted)),
        bert{plain::load(folder + "/bert/model.safetensors", tasks), config.num_hidden_layers,
             config.num_attention_heads, 0},
        library(bert.theta, config, tasks) {}
  std::string folder;
  BertConfig config;
  std::vector<Task> tasks;
  std::vector<plain::Step> steps;
  plain::Bert bert;
  plain::Library library;
};

}  // namespace

TEST_CASE("plain_bert: losses of ten steps and gradients of the first of each task are the library's") {
  Both both(10);
  for (size_t k = 0; k < 3; ++k) {
    INFO(both.steps[k].task);
    const auto plain = plain::gradient(plain::loss_of(both.bert, both.steps[k]), both.bert.theta);
    const auto library = plain::gradient(both.library.loss(both.steps[k]), both.library.parameters());
    CHECK(plain.size() == both.bert.theta.size() - 4);          // two heads have none
    REQUIRE(plain.size() == library.size());
    for (const auto& [name, g] : plain) {
      INFO(name);                                               // 0 for a key's bias, but for rounding
      const double floor = name.ends_with("key.bias") ? 1 : 1e-3;
      CHECK(difference(g, library.at(name), floor) < tolerance(1e-5, 1e-11));
    }
  }
  const std::vector<double> plain = plain::train(both.bert, both.steps),
                            library = both.library.train(both.steps);
  REQUIRE(plain.size() == 10);
  for (size_t k = 0; k < plain.size(); ++k) {
    INFO("step " << k);
    CHECK(std::abs(plain[k] - library[k]) < double(tolerance(1e-4, 1e-10)));
  }
}

TEST_CASE("plain_bert: without a task its norm is LayerNorm") {
  const Both both(1);
  for (const auto& [name, p] : both.bert.theta)                 // else γ_t would be 0
    if (name.find(".task_") != name.npos) p.copy_from(normal(name, p.shape()).values());
  const Batch batch = pack(sentences({5, 1, 9}));
  const NoGrad no_tape;
  const Tensor library = both.library.model.network.bert().pooled(batch, Pool::pooler);
  CHECK(difference(both.bert.pooled(batch).values(), library.values()) < tolerance(1e-5, 1e-12));
}

TEST_CASE("plain_bert: its attention and the kernel are equal, forward and backward") {
  const Batch batch = pack(sentences({5, 1, 9}));
  const Inputs x = {normal("q", {15, 12}), normal("k", {15, 12}), normal("v", {15, 12})};
  for (const int heads : {1, 2, 3}) {
    INFO(heads << " heads");
    const plain::Bert bert = {.theta = {}, .layers = 0, .heads = heads, .p = 0};
    const auto fused = values_and_gradients(
        x, [&](const Inputs& in) { return attention(in[0], in[1], in[2], batch, heads); });
    const auto plain = values_and_gradients(
        x, [&](const Inputs& in) { return bert.attention(in[0], in[1], in[2], batch); });
    for (size_t i = 0; i < fused.size(); ++i)
      CHECK(difference(fused[i], plain[i]) < tolerance(1e-5, 1e-13));
  }
}

TEST_CASE("plain_bert: dropout makes a share p of the numbers 0 and keeps the mean") {
  const plain::Bert bert = {.theta = {}, .layers = 0, .heads = 1, .p = 0.2};
  const std::vector<real> y = bert.dropout(Tensor::full({100, 100}, 4)).values();
  const auto dropped = std::ranges::count(y, real(0));
  CHECK(std::abs(double(dropped) - 2000) < 5 * 40);             // 40: the deviation of this count
  for (const real v : y) CHECK((v == 0 || v == doctest::Approx(5)));
  CHECK(bert.dropout(Tensor::full({100, 100}, 4)).values() != y);
}

TEST_CASE("plain_bert: its losses are NaN where a p underflows, and the library's are right") {
  const real far = tolerance(105, 800), near = tolerance(90, 720);
  const Tensor two = Tensor::from({1, 2}, {far, 0}), one = Tensor::from({1, 1}, {near});
  for (const int label : {0, 1}) {
    CHECK(std::isnan(plain::cross_entropy(two, {double(label)}).item()));
    CHECK(cross_entropy(two, {label}).item() == real(label) * far);
  }
  CHECK(std::isnan(plain::binary_cross_entropy(one, {1}).item()));
  CHECK(binary_cross_entropy_with_logits(one, Tensor::from({1, 1}, {1})).item() < 1e-30);
}

TEST_CASE("plain_bert: saves the parameters and steps that plain_bert.py begins with") {
  const SmallWorld world;
  const Both both(3);
  plain::save(world.path("out"), both.bert.theta, both.config, both.steps);
  const SafeTensors file(world.path("out/start.safetensors"));
  CHECK(file.entries().size() == both.bert.theta.size());
  const Json steps = Json::load(world.path("out/steps.json"));
  REQUIRE(steps.items().size() == 3);
  const Json quora = steps.items()[1];
  const Batch& batch = both.steps[1].batch;
  CHECK(quora["task"].string() == "quora");
  CHECK(quora["labels"].numbers() == both.steps[1].labels);
  CHECK(quora["ids"].numbers() == std::vector<double>(batch.ids.begin(), batch.ids.end()));
  CHECK(quora["row_task"].numbers() == std::vector<double>(size_t(batch.tokens()), 1));
}

}  // namespace minbert::test
