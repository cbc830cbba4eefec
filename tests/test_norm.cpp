// Norms: what holds for each of the table. A new line there is tested by being there.
#include <doctest/doctest.h>

#include "engine/names.h"
#include "engine/text.h"
#include "error_of.h"
#include "lone_norm.h"

namespace minbert::test {
namespace {

// The number that a norm's table has as "2H + 2H tasks": a sum of numbers, times H and tasks where these stand
int64_t count_in(const std::string& text, int64_t H, int64_t tasks) {
  int64_t sum = 0;
  for (const std::string& term : split(text, '+')) {
    const int64_t number = contains(term, "H") && !std::isdigit(trimmed(term)[0]) ? 1 : std::stoll(term);
    sum += number * (contains(term, "H") ? H : 1) * (contains(term, "tasks") ? tasks : 1);
  }
  return sum;
}

// What is approximate has no gradient to check: test_norm_numbers.cpp holds it against its recurrences.
bool exact(const NormEntry& entry, bool training) { return std::string(entry.name) != "power" || !training; }

}  // namespace

TEST_CASE("norm: every norm passes the gradient check, in training and in evaluation, with and without task ids") {
  for (const NormEntry& entry : norms().entries)
    for (const Indices& task : {Indices(), Indices{1}, tasks_of_sentences})
      for (const bool training : {true, false}) {
        if (!exact(entry, training)) continue;
        const Lone lone(entry.name);
        lone.norm->train(training);
        const Batch batch = three_sentences(task);
        const Tensor x = normal("x", {8, 6}, 1, 0.1);           // a norm may have a kink at 0
        gradcheck(formatted("{}, {} task ids, training {}", entry.name, task.size(), training), lone.inputs(batch, x),
                  [&](const Inputs&) { return scale((*lone.norm)(x, batch), 1); });
      }
}

TEST_CASE("norm: LayerNorm's kernel equals its equation in elementary operations, plain and conditional") {
  for (const std::string name : {"layer", "conditional-layer"})
    for (const auto& [lengths, task] : {std::pair(std::vector<int>{7, 1, 12, 3}, Indices{0, 2, 2, 1}),
                                        std::pair(std::vector<int>{5}, Indices()),
                                        std::pair(std::vector<int>{1}, Indices{2})}) {
      INFO(name << ", " << lengths.size() << " sentences");
      const Lone lone(name, {32, 3, 1e-5});
      const Batch batch = pack(sentences(lengths), task);
      const Inputs inputs = lone.inputs(batch, normal("x", {batch.tokens(), 32}, 3));
      const auto text = values_and_gradients(
          inputs, [&](const Inputs& in) { return lone.norm->composed(in[0], batch); });
      const auto fused = values_and_gradients(
          inputs, [&](const Inputs& in) { return (*lone.norm)(in[0], batch); });
      for (size_t input = 0; input < text.size(); ++input) {  // a*b+c is rounded once here, twice there
        INFO("input " << input << ", or the result; " << std::string(batch.row_task ? "with" : "without") << " tasks");
        CHECK(difference(fused[input], text[input], 1) < tolerance(1e-4, 1e-12));
      }
    }
}

TEST_CASE("norm: an unknown name, option or value is an error that lists what there is") {
  const auto refused = [](const std::string& norm, const std::string& message) {
    CHECK_ERROR(norms().check(norm), message);
    CHECK_ERROR(norms().make(norm, {6, 3}), message);
  };
  refused("batsch", "valid are: none, layer, ");
  refused("batch:groups=2", "batch has no option \"groups\"; its options are eps=1e-5, momentum=0.1");
  refused("none:eps=1", "none has no option \"eps\"; it has none");
  refused("batch:momentum=x", "batch:momentum=x: momentum is \"x\", expected a number from 0 to 1");
  refused("batch:momentum=1.5", "expected a number from 0 to 1");
  refused("group:groups=0", "expected a number from 1");
  refused("layer:eps", "\"eps\" is no option; expected layer:option=value");
  refused("layer:", "expected options after the colon");
  refused("layer:eps=1,eps=2", "eps is given twice");
}

TEST_CASE("norm: in a list a comma followed by word= continues a norm's options") {
  using List = std::vector<std::string>;
  CHECK(split_norms("layer,group:groups=8,eps=1e-5,rms") == List{"layer", "group:groups=8,eps=1e-5", "rms"});
  CHECK(split_norms("batch:momentum=.2,group:groups=2") == List{"batch:momentum=.2", "group:groups=2"});
  CHECK(norm_name("group:groups=8") == "group");
}

TEST_CASE("norm: the table tells the number of parameters, and who keeps running statistics") {
  for (const NormEntry& entry : norms().entries) {
    INFO(std::string(entry.name));
    const auto norm = norms().make(entry.name, {128, 5, 1e-12});
    const Parameters parameters(*norm, {});
    CHECK(parameters.count() == count_in(entry.parameters, 128, 5));
    CHECK(has_statistics(entry) == !parameters.buffers().empty());
  }
}

TEST_CASE("norm: the README of src/norm has the table, row by row") {
  for (const NormEntry& entry : norms().entries) check_readme(entry);
}

TEST_CASE("norm: a packed batch is its sentences one at a time, where a norm does not mix the batch") {
  for (const NormEntry& entry : norms().entries)
    for (const bool training : {true, false}) {
      if (entry.mixes == Mixes::batch && training) continue;
      INFO(std::string(entry.name) << ", training " << training);
      const Lone lone(entry.name);
      lone.norm->train(training);
      const std::vector<Sequence> all = sentences({3, 1, 4});
      const Tensor x = normal("x", {8, 6});
      const std::vector<real> together = (*lone.norm)(x, pack(all, tasks_of_sentences)).values();
      std::vector<real> apart;
      for (size_t b = 0, row = 0; b < 3; row += all[b++].ids.size()) {
        const int64_t length = int64_t(all[b].ids.size());
        const Tensor own = Tensor::from({length, 6}, {x.data() + 6 * row, size_t(6 * length)});
        const Batch alone = pack({&all[b], 1}, {tasks_of_sentences[int64_t(b)]});
        const std::vector<real> y = (*lone.norm)(own, alone).values();
        apart.insert(apart.end(), y.begin(), y.end());
      }
      CHECK(difference(together, apart) < tolerance(1e-6, 1e-14));
    }
}

TEST_CASE("norm: statistics move in training alone; evaluation in between changes nothing") {
  for (const NormEntry& entry : norms().entries) {
    INFO(std::string(entry.name));
    const Lone lone(entry.name), other(entry.name);
    const Batch batch = three_sentences({});
    const auto statistics = [](const Lone& l) {
      std::vector<real> list;
      for (const Parameter& b : l.parameters.buffers())
        for (const real v : b.value.values()) list.push_back(v);
      return list;
    };
    const auto step = [&](const Lone& l, int i) {
      l.norm->train(true);
      Tensor x = normal(formatted("x{}", i), {8, 6});
      x.set_requires_grad(true);
      const Tensor y = scale((*l.norm)(x, batch), 1);
      backward(y, normal("c", {8, 6}));
      return y.values();
    };
    for (int i = 0; i < 3; ++i) {
      const std::vector<real> y = step(lone, i), before = statistics(lone);
      lone.norm->train(false);
      const Tensor x = normal("between", {8, 6});
      const std::vector<real> z = (*lone.norm)(x, batch).values();
      CHECK((*lone.norm)(x, batch).values() == z);
      CHECK(statistics(lone) == before);
      CHECK(step(other, i) == y);
      if (has_statistics(entry)) CHECK(statistics(lone) != statistics(Lone(entry.name)));
    }
    CHECK(statistics(lone) == statistics(other));
  }
}

TEST_CASE("norm: a trained model's statistics are saved and loaded, and a LayerNorm's checkpoint is taken over") {
  for (const NormEntry& entry : norms().entries) {
    INFO(std::string(entry.name));
    check_saved(entry);
  }
}

TEST_CASE("norm: a group of one channel gives its bias; over a sentence it does not") {
  const Tensor x = normal("x", {8, 11});
  const Lone lone("group", {11}, 11), other("group", {11}, 11), sentence("group-sentence", {11}, 11);
  const auto y = [&](const Lone& norm, double factor) {
    return (*norm.norm)(scale(x, real(factor)), three_sentences({})).values();
  };
  CHECK(y(lone, 1) == y(lone, -3));
  CHECK(y(sentence, 1) != y(sentence, -3));
}

TEST_CASE("norm: channels that do not part into groups are an error") {
  CHECK_ERROR(norms().make("group:groups=2.5", {100}), "2.5 is not a whole number of groups");
  CHECK_ERROR(norms().make("group", {100}), "100 channels do not part into 16 groups");
  CHECK_ERROR(norms().make("group-sentence", {144}), "144 channels do not part into 32 groups");
}

}  // namespace minbert::test
