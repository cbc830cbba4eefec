// Memory: after a step no tensor of it is alive, and after the first steps none asks the system for memory.
#include <doctest/doctest.h>

#include "engine/storage.h"
#include "error_of.h"
#include "minbert/ops.h"
#include "minbert/optimizer.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

struct Trained {
  MultitaskBert model{tiny_config("conditional-layer", 32, 0.1), three_heads(), 0.3};
  Parameters parameters{model, {}};
  Optimizer optimizer{parameters, {}};
  Trained() {
    model.train();
  }
  void step(const std::vector<int>& lengths, int number) {
    ++DropoutClock::current().step;
    const Batch batch = pack(sentences(lengths, formatted("step {}", number)), {0});
    const std::vector<int32_t> labels(lengths.size(), 1);
    backward(cross_entropy(model.forward(batch, 0), labels));
    optimizer.step(1e-3);
  }
};

int64_t in_use() { return pool_statistics().bytes_in_use; }

}  // namespace

TEST_CASE("memory: no tensor of a step is alive after it") {
  Trained().step({5, 1, 9}, 0);                  // the first product takes a workspace on a GPU, for good
  const int64_t before = in_use();
  {
    Trained t;
    t.step({5, 1, 9}, 0);                           // on a GPU the optimizer keeps a list of pieces there from now on
    const int64_t at_rest = in_use();
    // Parameters and two moments, but no gradients: a forward needs none
    CHECK(double(at_rest - before) < 3.5 * double(t.parameters.count()) * double(sizeof(real)));
    for (int i = 1; i < 4; ++i) {
      t.step({5, 1, 9}, i);
      CHECK(in_use() == at_rest);
      CHECK(tape_length() == 0);
    }
  }
  CHECK(in_use() == before);
}

TEST_CASE("memory: a step that fails half-way leaves nothing behind") {
  Trained t;
  const int64_t at_rest = in_use();
  {
    const Tensor out = t.model.forward(pack(sentences({3, 2}), {0}), 0);
    CHECK_THROWS_AS(cross_entropy(out, {1, 7}), Error);
  }
  clear_tape();
  CHECK(in_use() == at_rest);

  // In backward: `late` hands `early` and w their gradients before `broken` fails; w, a leaf, keeps what it got.
  const Tensor x = normal("x", {3}).set_requires_grad(true), w = normal("w", {3}).set_requires_grad(true);
  const Tensor early = scale(x, 2);
  const Tensor broken = record("broken", early.detach(), {early}, [](const Tensor&, Grads&) { fail("broken"); });
  const Tensor late = mul(early, w);
  const int64_t before = in_use();
  CHECK_ERROR(backward(add(broken, late)), "broken");
  CHECK_FALSE(bool(early.grad()));
  CHECK_FALSE(bool(broken.grad()));
  REQUIRE(bool(w.grad()));
  CHECK(w.grad().values() == early.values());
  w.zero_grad();
  CHECK(in_use() == before);
}

TEST_CASE("memory: after the first steps no batch asks the system for memory, unless it is the largest yet") {
  Trained t;
  Random random(1, "lengths");
  const auto lengths = [&] {
    std::vector<int> list;
    for (int i = 0; i < 8; ++i) list.push_back(2 + int(random.below(29)));
    return list;
  };
  t.step(std::vector<int>(8, 32), 0);       // no later batch is as large
  const PoolStatistics after_largest = pool_statistics();
  int64_t late = 0, most = 0;
  for (int i = 1; i <= 100; ++i) {
    const int64_t before = pool_statistics().allocations;
    t.step(lengths(), i);
    if (i > 20) late += pool_statistics().allocations - before;
    most = std::max(most, pool_statistics().bytes_held);
  }
  CHECK(late == 0);
  MESSAGE("held after the largest batch: " << after_largest.bytes_held << ", at most: " << most
          << ", allocations: " << after_largest.allocations << " then " << pool_statistics().allocations);
  CHECK(double(most) < 1.1 * double(after_largest.bytes_held));
}

TEST_CASE("memory: blocks that are given back become one where they touch, in any order, and are cut again") {
  release_free_blocks(Device::cpu);
  constexpr int64_t size = 1 << 20;
  { const Tensor one_segment({6 * size}, Device::cpu); }
  const int64_t allocations = pool_statistics(Device::cpu).allocations;
  if (allocations == 0) return;                     // AddressSanitizer's build has no pool
  for (const std::vector<size_t>& order : {std::vector<size_t>{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    std::vector<Tensor> parts;
    for (int i = 0; i < 3; ++i) parts.push_back(Tensor::full({2 * size - 4096}, real(i), Device::cpu));
    for (int i = 0; i < 3; ++i) CHECK(parts[size_t(i)].data()[2 * size - 4097] == real(i));
    for (const size_t i : order) parts[i] = {};
    const Tensor whole({6 * size}, Device::cpu);
    CHECK(reinterpret_cast<uintptr_t>(whole.data()) % 64 == 0);
    CHECK(pool_statistics(Device::cpu).allocations == allocations);
  }
  const int64_t held = pool_statistics(Device::cpu).bytes_held;
  release_free_blocks(Device::cpu);
  CHECK(pool_statistics(Device::cpu).bytes_held <= held - 6 * size * int64_t(sizeof(real)));
}

TEST_CASE("memory: with --recompute a layer keeps its input alone; values and gradients are the same, bit for bit") {
  struct Recompute {
    Recompute() { set_recompute(true); }
    ~Recompute() { set_recompute(false); }
  };
  const Batch batch = pack(sentences({5, 1, 9, 4}, "recompute"), {0});
  int64_t all_kept = 0, all_kept_plain = 0;
  for (const std::string norm : {"conditional-layer", "instance"})
    for (const std::string placement : {"post", "normformer"})
      for (const char* trained : {"", "output.LayerNorm"}) {
        INFO(norm, " ", placement, " ", trained);
        BertConfig config = tiny_config(norm, 32, 0.1);
        config.placement = choice<Placement>(placement, "");
        MultitaskBert model(config, three_heads(), 0.3);
        Parameters parameters(model, {});
        parameters.set_trainable([=](const std::string& name) { return name.find(trained) != name.npos; });
        model.train();
        int64_t kept = 0;
        const auto gradients = [&] {
          DropoutClock::current() = {3, 7};
          release_free_blocks(default_device());    // a block that is only somewhat too large is not cut
          const int64_t before = pool_statistics().bytes_in_use;
          const Tensor loss = cross_entropy(model.forward(batch, 0), {1, 0, 4, 2});
          kept = pool_statistics().bytes_in_use - before;
          backward(loss);
          std::vector<std::vector<real>> all = {loss.values()};
          for (const Parameter& p : parameters.items())
            all.push_back(p.value.grad() ? p.value.grad().values() : std::vector<real>());
          parameters.zero_grad();
          CHECK(DropoutClock::current().step == 8);
          return all;
        };
        const auto plain = gradients();
        const int64_t kept_plain = kept, alive = in_use();
        const Recompute on;
        CHECK(gradients() == plain);
        CHECK(kept < kept_plain);
        all_kept += kept, all_kept_plain += kept_plain;
        CHECK(in_use() == alive);
        CHECK(tape_length() == 0);
      }
  CHECK(4 * all_kept < 3 * all_kept_plain);
  const Recompute on;
  MultitaskBert model(tiny_config("batch"), three_heads(), 0);
  const Parameters parameters(model, {});
  model.train(false);
  model.forward(batch, 0);                          // evaluation recomputes nothing
  clear_tape();
  model.train();
  CHECK_ERROR(model.forward(batch, 0), "--recompute: the norm batch moves its statistics");
}

}  // namespace minbert::test
