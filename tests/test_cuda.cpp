// The GPU against the CPU: run with --device cuda, as `make test` does where there is a GPU, and `make rehearsal`.
#include <doctest/doctest.h>

#include "engine/cuda.h"
#include "engine/fill.h"
#include "engine/launch.h"
#include "engine/storage.h"
#include "error_of.h"
#include "minbert/optimizer.h"
#include "on_device.h"
#include "op_cases.h"
#include "small_run.h"
#include "tiny_bert.h"

namespace minbert::test {
namespace {

// As outside of tests for a while: without a wait behind every launch, in memory that the host cannot see.
struct WithoutDebugging {
  WithoutDebugging() { change(false); }
  ~WithoutDebugging() { change(true); }
  static void change(bool debug) {
    release_free_blocks(Device::cuda);
    cuda::set_debug(debug);
  }
};

// Long rows, many rows, long lists: what a warp, a block and a slice of a column take on.
std::vector<Case> large_cases() {
  std::vector<Sequence> list;
  for (const int length : {33, 1, 70, 64}) list.push_back(sentence(length));
  const Batch batch = pack(list);
  Batch causal = batch;
  causal.causal = true;
  std::vector<int32_t> many, few, labels;
  for (int32_t i = 0; i < 168; ++i) many.push_back(i * 7 % 40), few.push_back(i * 5 % 3), labels.push_back(i * 11 % 90);
  const Indices ids = many, segments = few, classes = labels;
  return {
      {"layer_norm", "in blocks", {n({9, 1500}), m({1500}), m({1, 1500})},
       [](const Inputs& x) { return layer_norm(x[0], x[1], x[2], 1e-12); }},
      {"layer_norm", "of tasks, summed in slices", {n({168, 24}), m({3, 24}), n({3, 24})},
       [=](const Inputs& x) { return layer_norm(x[0], x[1], x[2], 1e-12, segments); }},
      {"softmax", "in blocks of 1024", {n({2, 9000})}, [](const Inputs& x) { return softmax(x[0]); }},
      {"cross_entropy", "", {n({168, 90})}, [=](const Inputs& x) { return cross_entropy(x[0], classes); }},
      {"linear_cross_entropy", "", {n({168, 24}), m({90, 24}), m({90})},
       [=](const Inputs& x) { return linear_cross_entropy(x[0], x[1], x[2], classes); }},
      {"embedding", "", {n({40, 24})}, [=](const Inputs& x) { return embedding(x[0], ids); }},
      {"embedding", "of few rows", {n({3, 24})}, [=](const Inputs& x) { return embedding(x[0], segments); }},
      {"mean_columns", "", {n({168, 24})}, [](const Inputs& x) { return mean_columns(x[0]); }},
      {"mean_sentences", "", {n({168, 24})}, [=](const Inputs& x) { return mean_sentences(x[0], batch); }},
      {"attention", "", {n({168, 24}), m({168, 24}), kinked({168, 24})},
       [=](const Inputs& x) { return attention(x[0], x[1], x[2], batch, 3, p, key); }},
      {"attention", "causal", {n({168, 24}), m({168, 24}), kinked({168, 24})},
       [=](const Inputs& x) { return attention(x[0], x[1], x[2], causal, 3, p, key); }},
      {"feed_forward", "", {n({168, 24}), m({40, 24}), m({40}), n({24, 40}), m({24})},
       [](const Inputs& x) { return feed_forward(x[0], x[1], x[2], x[3], x[4]); }},
      {"sum", "in one block", {n({100, 200})}, [](const Inputs& x) { return sum(x[0]); }},
  };
}

// With its inputs on the default device.
std::vector<std::vector<real>> results(const Case& c) {
  Inputs inputs;
  for (const Tensor& x : c.inputs) inputs.push_back(Tensor::from(x.shape(), x.values()));
  return values_and_gradients(inputs, c.f);
}
auto results_in(Precision precision, const Case& c) {
  const In of(precision);
  return results(c);
}

}  // namespace

TEST_CASE("cuda: every operation has the CPU's values and gradients") {
  for (const std::vector<Case>& list : {cases(), large_cases()})
    for (const Case& c : list) {
      INFO(c.operation << " " << c.form);
      const auto ours = results(c);
      const On cpu(Device::cpu);
      const auto expected = results(c);
      for (size_t i = 0; i < expected.size(); ++i) {
        INFO("input " << i << ", or the result");
        CHECK(difference(ours[i], expected[i], 0.1) < tolerance(1e-5, 1e-13));
      }
    }
}

TEST_CASE("cuda: products of every form, in fp32, tf32 and bf16, each within its bound") {
  using enum Precision;
  for (const auto& [precision, bound] : {std::pair(fp32, 1e-5), {tf32, 2e-3}, {bf16, 1.6e-2}})
    for (const int64_t k : {1, 64, 333}) {
      INFO(precision << ", inner size " << k);
      const Case forms[] = {
          {"matmul", "", {n({70, k}), m({k, 50})}, [](const Inputs& x) { return matmul(x[0], x[1]); }},
          {"matmul_nt", "", {n({70, k}), m({50, k})}, [](const Inputs& x) { return matmul_nt(x[0], x[1]); }},
          {"matmul_tn", "", {n({k, 70}), m({k, 50})}, [](const Inputs& x) { return matmul_tn(x[0], x[1]); }},
          {"linear", "", {n({70, k}), m({50, k}), m({50})},
           [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
          {"linear", "to five", {n({70, k}), m({5, k}), m({5})},
           [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
          {"linear", "to one", {n({70, 333}), m({1, 333}), m({1})},
           [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
          {"linear", "of one row", {n({1, 333}), m({50, 333}), m({50})},
           [](const Inputs& x) { return linear(x[0], x[1], x[2]); }}};
      for (const Case& c : forms) {
        const auto ours = results_in(precision, c);
        const On cpu(Device::cpu);
        const auto expected = results(c);
        INFO(c.operation << " " << c.form);
        for (size_t i = 0; i < expected.size(); ++i)
          CHECK(difference(ours[i], expected[i]) < (is_double ? 1e-13 : bound));
      }
    }
}

TEST_CASE("cuda: attention in tf32 and bf16: equal lengths by cuBLAS, also where heads are too narrow for it, others") {
  for (const std::vector<int>& lengths : {std::vector{12, 12, 12, 12}, {8, 17, 20, 3}}) {
    std::vector<Sequence> list;
    for (const int length : lengths) list.push_back(sentence(length));
    const Batch batch = pack(list);
    for (const auto& [heads, H] : {std::pair(2, 12), {2, 24}, {1, 5}})
      for (const auto& [precision, bound] : {std::pair(Precision::tf32, 2e-3), {Precision::bf16, 1.6e-2}}) {
        INFO(lengths[0] << ", " << lengths[1] << " tokens, " << heads << " heads of " << H << ", " << precision);
        const Case c{"attention", "", {n({48, H}), m({48, H}), kinked({48, H})},
                     [&, h = heads](const Inputs& x) { return attention(x[0], x[1], x[2], batch, h, p, key); }};
        const auto ours = results_in(precision, c);
        const On cpu(Device::cpu);
        const auto expected = results(c);
        for (size_t i = 0; i < expected.size(); ++i) CHECK(difference(ours[i], expected[i]) < bound);
      }
  }
}

TEST_CASE("cuda: a run repeated is the same to the last bit, and 20 steps have the CPU's losses") {
  SmallWorld world;
  TrainOptions o = world.options();
  o.epochs = 3;
  o.accumulate = 1;                                 // 8 steps an epoch
  world.run(o, "one"), world.run(o, "two");
  CHECK(contents(world.path("one")) == contents(world.path("two")));
  const auto ours = csv(world.path("one/steps.csv"));
  {
    const On cpu(Device::cpu);
    world.run(o, "cpu");
  }
  const auto expected = csv(world.path("cpu/steps.csv"));
  REQUIRE(ours.size() > 20);
  REQUIRE(ours.size() == expected.size());
  for (size_t i = 0; i < ours.size(); ++i)          // step, task, loss
    if (i > 0) CHECK(std::stod(ours[i][2]) == doctest::Approx(std::stod(expected[i][2])).epsilon(1e-3));
}

TEST_CASE("cuda: a run stopped on one device goes on on the other") {
  SmallWorld world;
  const TrainOptions o = world.options();
  world.run(o, "whole");
  world.run(o, "to cpu", 3);
  {
    const On cpu(Device::cpu);
    world.run(o, "to cpu");
    world.run(o, "from cpu", 3);
  }
  world.run(o, "from cpu");
  const SafeTensors whole(world.path("whole/state.safetensors"));
  for (const char* run : {"to cpu", "from cpu"}) {
    const SafeTensors other(world.path(std::string(run) + "/state.safetensors"));
    for (const auto& [name, entry] : whole.entries())
      if (entry.type != "I64") CHECK(difference(other.read(name), whole.read(name), 0.1) < tolerance(2e-3, 1e-9));
    CHECK(other.read_integers("optimizer.steps") == whole.read_integers("optimizer.steps"));
  }
}

TEST_CASE("cuda: after the first steps, a step neither waits for the GPU nor asks it for memory") {
  const WithoutDebugging as_usual;
  MultitaskBert model(tiny_config("conditional-layer", 32), {{"sst", 5, false, false}}, 0.1);
  Parameters parameters(model, {});
  model.train();
  Optimizer optimizer(parameters, {});
  const auto step = [&] {
    backward(cross_entropy(model.forward(pack(sentences({9, 4, 30}), {0}), 0), {1, 0, 4}));
    optimizer.clip(1);
    optimizer.step(1e-3);
  };
  for (int i = 0; i < 3; ++i) step();
  const int64_t waits = cuda::waits(), launches = cuda::launches(), allocations = pool_statistics().allocations;
  step();
  CHECK(cuda::waits() == waits);
  CHECK(pool_statistics().allocations == allocations);
  MESSAGE("launches a step, 2 layers: " << cuda::launches() - launches);
}

TEST_CASE("cuda: out of memory says what was asked for and what to lower, and work goes on") {
  const Tensor before = normal("x", {3, 4});
  {
    const WithoutDebugging as_usual;                // the host may have more memory than the card
    const int64_t too_much = cuda::memory().total / int64_t(sizeof(real)) + 1;
    const auto n = int64_t(std::sqrt(double(too_much))) + 1;
    const Tensor column = Tensor::zeros({n, 1}), bias = Tensor::zeros({n});
    CHECK_ERROR(linear(column, column, bias), "out of GPU memory: ");
    CHECK_ERROR(Tensor({too_much}), "Lower --batch");
  }
  CHECK(add(before, before).values() == scale(before, 2).values());
}

#ifdef MINBERT_GPU_CODE
namespace {
// Reads what another lane wrote, with a meeting in between or without.
struct Exchange {
  real *from, *to;
  bool meet;
  template <class Team>
  HD void operator()(Team team, int64_t) const {
    real *a = from, *b = to;
    team.each(32, [=](int i) { a[i] = 2; });
    if (meet) team.sync();
    team.each(32, [=](int i) { b[i] = a[31 - i]; });
  }
};
}  // namespace

TEST_CASE("cuda: the rehearsal finds a lane that reads what another was to write") {
  const Tensor from = Tensor::full({32}, 1), to({32});
  const std::vector<real> right(32, 2);
  launch_rows(Device::cuda, 1, 32, Exchange{from.data(), to.data(), true});
  CHECK(to.values() == right);
  fill(from, 1);
  launch_rows(Device::cuda, 1, 32, Exchange{from.data(), to.data(), false});
  CHECK(to.values() != right);
}
#endif

}  // namespace minbert::test
