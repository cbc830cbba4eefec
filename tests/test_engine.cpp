// The tape: what is recorded, what gets a gradient, what errors say, --trace, --profile, --check-nan.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "engine/flat_buffer.h"
#include "engine/profile.h"
#include "engine/tape.h"
#include "error_of.h"
#include "gradcheck.h"
#include "minbert/ops.h"

namespace minbert::test {
namespace {

Tensor leaf(const std::string& name, Shape shape) { return normal(name, shape).set_requires_grad(true); }

}  // namespace

TEST_CASE("engine: format fills braces in order and keeps what is left") {
  CHECK(formatted("{} of {}", 2, 3) == "2 of 3");
  CHECK(formatted("no braces") == "no braces");
  CHECK(formatted("{} and {}", 1) == "1 and {}");
  CHECK(formatted("{}", Shape{512, 768}) == "[512, 768]");
  CHECK(formatted("{}", Shape{}) == "[]");
}

TEST_CASE("engine: tensors share values by handle, by reshape and by detach") {
  const Tensor a = Tensor::from({2, 3}, std::vector<real>{1, 2, 3, 4, 5, 6}), same = a;
  const Tensor flat = a.reshape({6}), apart = a.detach();
  a.data()[4] = 50;
  CHECK(same.is(a));
  CHECK(flat.data()[4] == 50);
  CHECK(apart.data()[4] == 50);
  CHECK(a.rows() == 2);
  CHECK(a.cols() == 3);
  CHECK(Tensor::full({}, 7).item() == 7);
  CHECK_FALSE(bool(Tensor()));
  CHECK(error_of([&] { (void)a.item(); }) == "item: a tensor of [2, 3] is not a single value");
  CHECK_ERROR(a.copy_from(std::vector<real>(5)), "5 values for a tensor of [2, 3]");
  CHECK(contains(error_of([] { Shape{1, 2, 3, 4, 5}; }), "at most 4"));
  CHECK(contains(error_of([] { Shape{1, -2}; }), "negative"));
  CHECK_ERROR(Tensor().shape(), "never given a value");
}

TEST_CASE("engine: a second backward is an error that says so") {
  Tensor x = leaf("x", {3});
  const Tensor y = sum(square(x));
  backward(y);
  CHECK(tape_length() == 0);
  const std::vector<real> first = x.grad().values();
  CHECK_ERROR(backward(y), "run the forward again");
  CHECK(x.grad().values() == first);                // the failed call added nothing
}

TEST_CASE("engine: two losses on one tape need one backward of their sum") {
  Tensor x = leaf("x", {3});
  const Tensor a = sum(x), b = sum(square(x));
  backward(a);
  CHECK_ERROR(backward(b), "not on the tape");
  x.zero_grad();
  backward(add(sum(x), sum(square(x))));
  for (int i = 0; i < 3; ++i) CHECK(x.grad().data()[i] == doctest::Approx(double(1 + 2 * x.data()[i])));
}

TEST_CASE("engine: nothing is recorded under NoGrad or where no input needs a gradient") {
  const Tensor frozen = normal("frozen", {3});
  Tensor x = leaf("x", {3});
  {
    const NoGrad outer;
    {
      const NoGrad inner;
    }
    CHECK_FALSE(mul(x, x).requires_grad());
    CHECK(tape_length() == 0);
  }
  CHECK_FALSE(mul(frozen, frozen).requires_grad());
  CHECK(tape_length() == 0);
  CHECK_FALSE(mul(x.detach(), frozen).requires_grad());
  const Tensor y = mul(x, frozen);
  CHECK(y.requires_grad());
  CHECK(tape_length() == 1);
  CHECK_ERROR(Tensor(y).set_requires_grad(false), "only leaves");
  backward(y);
  CHECK(x.grad().values() == frozen.values());
  CHECK_FALSE(bool(frozen.grad()));
}

TEST_CASE("engine: a trace keeps a step's operations with their results, their inputs and, behind backward, their "
          "gradients") {
  Tensor x = leaf("x", {2, 3});
  const Tensor before = scale(x, 2);
  std::vector<Trace::Operation> kept;
  {
    const Trace trace;
    const Tensor doubled = add(before, x), loss = sum(mul(doubled, doubled));
    (void)mul(x.detach(), before.detach());         // not on the tape
    backward(loss);
    kept = trace.operations();
  }
  (void)scale(x, 3);
  clear_tape();
  REQUIRE(kept.size() == 3);
  CHECK(kept[0].name == "add");
  CHECK(kept[1].name == "mul");
  CHECK(kept[0].inputs == std::vector<int>{-1, -1});               // `before` was computed before the trace began
  CHECK(kept[1].inputs == std::vector<int>{0, 0});
  CHECK(kept[2].inputs == std::vector<int>{1});
  for (int i = 0; i < 6; ++i) {
    CHECK(kept[0].result.data()[i] == doctest::Approx(3 * double(x.data()[i])));
    CHECK(kept[0].result.grad().data()[i] == doctest::Approx(6 * double(x.data()[i])));
    CHECK(kept[1].result.grad().data()[i] == 1);
  }
}

TEST_CASE("engine: an intermediate's gradient is kept where it was asked for, and is its own") {
  Tensor x = leaf("x", {2, 3});
  const Tensor middle = scale(x, 2), shifted = add(middle, Tensor::full({2, 3}, 1)),
      loss = sum(mul(shifted, shifted));
  middle.retain_grad();
  shifted.retain_grad();
  backward(loss);
  CHECK_FALSE(bool(loss.grad()));
  for (int i = 0; i < 6; ++i) {
    const real expected = 2 * shifted.data()[i];
    CHECK(shifted.grad().data()[i] == doctest::Approx(double(expected)));
    CHECK(middle.grad().data()[i] == doctest::Approx(double(expected)));
    CHECK(x.grad().data()[i] == doctest::Approx(double(2 * expected)));
  }
  // a sum hands its gradient on, but not what is retained
  CHECK(middle.grad().data() != shifted.grad().data());
}

// A gradient that is passed on without a copy must not be changed by what is added to it later.
TEST_CASE("engine: shared gradients do not leak into each other") {
  Tensor x = leaf("x", {4}), w = leaf("w", {4});
  const Tensor y = add(x, w);                       // hands its gradient to x as it is
  const Tensor z = add(add(y.reshape({4}), x), mul(x, w));
  backward(z);
  for (int i = 0; i < 4; ++i) {
    CHECK(x.grad().data()[i] == doctest::Approx(double(2 + w.data()[i])));
    CHECK(w.grad().data()[i] == doctest::Approx(double(1 + x.data()[i])));
  }
  // One that is passed on twice has one owner: what u gets from `once` is not v's.
  const auto both = [](const Tensor& a, const Tensor& b) {
    return record("both", add(a, b).detach(), {a, b}, [](const Tensor& dc, Grads& g) { g.pass(0, dc), g.pass(1, dc); });
  };
  x.zero_grad(), w.zero_grad();
  const Tensor u = scale(x, 1), v = scale(w, 1), once = scale(u, 1);
  backward(add(both(u, v), once));
  CHECK(x.grad().values() == std::vector<real>(4, 2));
  CHECK(w.grad().values() == std::vector<real>(4, 1));
  backward(both(x, x));                             // added to what x has
  CHECK(x.grad().values() == std::vector<real>(4, 4));
}

TEST_CASE("engine: a gradient that is not added to is passed on without a copy") {
  const Tensor x = leaf("x", {3});
  const real* passed = nullptr;
  const Tensor y = record("passes", x.detach(), {x}, [&](const Tensor& dc, Grads& g) {
    passed = dc.data();
    g.pass(0, dc);
  });
  backward(scale(y, 2));
  CHECK(x.grad().data() == passed);
}

TEST_CASE("engine: a backward may compute, and what it computes is no part of the walk") {
  const Tensor x = leaf("x", {3}), w = leaf("w", {3});
  const Tensor y = record("computes", x.detach(), {x}, [w](const Tensor& dc, Grads& g) {
    for (int i = 0; i < 100; ++i) scale(w, 2);
    g.pass(0, scale(dc, 3));
  });
  backward(y);
  CHECK(x.grad().values() == std::vector<real>(3, 3));
  CHECK_FALSE(bool(w.grad()));
  CHECK(tape_length() == 0);
}

TEST_CASE("engine: the cotangent is the caller's and has the result's shape") {
  Tensor x = leaf("x", {3});
  const Tensor c = normal("c", {3});
  const std::vector<real> before = c.values();
  backward(add(x, x), c);                           // the gradient of x is c + c: c itself stays
  CHECK(c.values() == before);
  x.zero_grad();
  for (int times = 0; times < 2; ++times) backward(x.reshape({3}), c);      // passed on, then added to
  CHECK(c.values() == before);
  for (int i = 0; i < 3; ++i) CHECK(x.grad().data()[i] == 2 * before[size_t(i)]);
  const Tensor y = add(x, x);
  CHECK(error_of([&] { backward(y, normal("c", {4})); }) ==
      "backward: the result is [3] but its cotangent is [4]");
  clear_tape();
}

TEST_CASE("engine: gradients go to a place of the caller's choosing, and accumulate there until cleared") {
  Tensor x = leaf("x", {2, 2});
  const Tensor inside = Tensor::zeros({2, 2});
  FlatBuffer::set_gradient(x, inside);
  backward(scale(x, 3));
  CHECK(x.grad().is(inside));
  backward(scale(x, 4));
  CHECK(inside.values() == std::vector<real>(4, 7));
  x.zero_grad();
  CHECK_FALSE(bool(x.grad()));
  backward(add(x, x));                              // overwrites the 7, then adds
  CHECK(inside.values() == std::vector<real>(4, 2));
  x.zero_grad();
  backward(x.reshape({4}));                         // what is passed on goes there, too, in x's shape
  CHECK(x.grad().is(inside));
  CHECK(inside.values() == std::vector<real>(4, 1));
  FlatBuffer::set_gradient(x, {});
  x.zero_grad();
  backward(x.reshape({4}));
  CHECK(x.grad().shape() == Shape{2, 2});
}

TEST_CASE("engine: an error in a module names its path, forward and backward") {
  const std::string path = "bert.encoder.layer.3.output.dense";
  Tensor a = leaf("a", {2, 3}), b = leaf("b", {4, 5});
  Tensor y;
  {
    const Scope scope(path);
    CHECK(error_of([&] { matmul_nt(a, b); }) ==
          "matmul_nt: inner sizes differ: a [2, 3] and b [4, 5]   (bert.encoder.layer.3.output.dense)");
    {
      const std::string inner_path = "inner";
      const Scope inner(inner_path);
      CHECK_ERROR(fail("x"), "x   (inner)");
    }
    CHECK(*Scope::current() == path);
    y = record("broken", normal("y", {2}), {a},
        [](const Tensor&, Grads&) { fail("broken: cannot go back"); });
  }
  CHECK(Scope::current() == nullptr);
  CHECK(error_of([&] { backward(y); }) == "broken: cannot go back   (bert.encoder.layer.3.output.dense)");
  CHECK(tape_length() == 0);                        // a failed backward leaves nothing behind
  const Tensor before = scale(a, 2);
  y = record("broken", before.detach(), {before}, [](const Tensor&, Grads&) { fail("broken: cannot go back"); });
  CHECK_ERROR(backward(y), "broken");
  CHECK(tape_length() == 0);                        // nor what came before it
  CHECK_ERROR(backward(before), "not on the tape");
  CHECK(error_of([] { fail("x"); }) == "x");
}

TEST_CASE("engine: a gradient of the wrong size is caught when it is passed on") {
  Tensor x = leaf("x", {3});
  const Tensor y = record("bad", normal("y", {2}), {x}, [](const Tensor& dc, Grads& g) { g.pass(0, dc); });
  CHECK_ERROR(backward(y), "a gradient of [2] for a tensor of [3]");
}

TEST_CASE("engine: --check-nan stops at the operation that made the first one") {
  set_check_nan(true);
  Tensor x = Tensor::from({3}, std::vector<real>{1, -1, 2}).set_requires_grad(true);
  CHECK(error_of([&] { exp(sqrt(x)); }) == "sqrt: element 1 of [3] is NaN");
  CHECK(error_of([&] { sqrt(x.detach()); }) == "sqrt: element 1 of [3] is NaN");      // without a tape
  Tensor zero = Tensor::zeros({2}).set_requires_grad(true);
  const Tensor y = mul(sqrt(zero), zero);           // 0 forward; backward 0 * inf
  CHECK_ERROR(backward(y), "sqrt backward: element 0");
  set_check_nan(false);
  CHECK(std::isnan(double(sqrt(x).data()[1])));
  clear_tape();
}

TEST_CASE("engine: the tape prints names, shapes and module paths") {
  const std::string path = "bert.pooler.dense";
  Tensor w = leaf("w", {2, 3});
  const Tensor x = normal("x", {4, 3});
  {
    const Scope scope(path);
    matmul_nt(x, w);
  }
  std::ostringstream out;
  print_tape(out);
  CHECK(out.str() == "matmul_nt -> [4, 2]  from [4, 3] (no gradient) [2, 3]   (bert.pooler.dense)\n");
  clear_tape();
  CHECK(tape_length() == 0);
}

TEST_CASE("engine: the profile counts calls, operations and bytes, forward and backward") {
  Tensor w = leaf("w", {400, 300});
  const Tensor x = normal("x", {200, 300});
  profile_start();
  CHECK(profile_is_on());
  for (int i = 0; i < 3; ++i) backward(matmul_nt(x, w));
  std::ostringstream out;
  profile_report(out);
  std::istringstream lines(out.str());
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, second, seconds, share;
    int calls = 0;
    double giga_operations = 0, gigabytes = 0;      // a second
    words >> name;
    if (name != "matmul_nt") continue;
    if (contains(line, "backward")) words >> second;
    words >> calls >> seconds >> share >> giga_operations >> gigabytes;
    CHECK(calls == 3);
    CHECK(giga_operations > 0);
    CHECK(gigabytes > 0);
    ++found;
  }
  CHECK(found == 2);
}

}  // namespace minbert::test
