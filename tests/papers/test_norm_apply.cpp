// `norms apply`: the norms of both tables on the tensors of a file.
#include <doctest/doctest.h>

#include <deque>
#include <functional>

#include "cls_set.h"
#include "golden_file.h"
#include "lone_norm.h"
#include "minbert/safetensors.h"
#include "papers/norm_apply.h"
#include "task_files.h"

namespace minbert::test {
namespace {

// Files of a test, in a folder of its own.
struct Files {
  Folder folder;
  const std::string in = (folder.path / "in.safetensors").string(), out = (folder.path / "out.safetensors").string();

  // x, dy [3,8,6], sentences of 3, 1 and 4 rows with their tasks, a set to fit, and every norm's parameters
  SafeTensorsWriter everything() {
    SafeTensorsWriter w;
    const auto add = [&](const char* name, std::vector<int64_t> shape) {
      int64_t size = 1;
      for (const int64_t s : shape) size *= s;
      values.push_back(normal(std::string("apply/") + name, {size}, 1).values());
      w.add(name, std::move(shape), values.back(), SafeTensorsWriter::As::real_type);
    };
    add("x", {3, 8, 6}), add("dy", {3, 8, 6}), add("fit", {20, 6});
    add("weight", {6}), add("bias", {6}), add("task_weight", {3, 6}), add("task_bias", {3, 6});
    w.add("offsets", {4}, offsets), w.add("tasks", {3}, tasks);
    return w;
  }
  std::deque<std::vector<real>> values;
  const std::vector<int64_t> offsets = {0, 3, 4, 8}, tasks = {2, 0, 2};
};

Tensor step_of(const SafeTensors& file, const std::string& name, int64_t step) {
  const std::vector<int64_t>& s = file.entry(name).shape;                            // [S,N,H], or [N,H] for step 0
  const int64_t H = s.back(), N = s[s.size() - 2];
  return Tensor::from({N, H}, {file.read(name).data() + step * N * H, size_t(N * H)});
}

// The output file of `options` on the input file equals what these calls give, to the last bit.
void check_same(const Files& f, const NormApplyOptions& options, Module& module,
                const std::function<Tensor(const Tensor&)>& forward) {
  apply_norm(options, f.in, f.out);
  const SafeTensors in(f.in), out(f.out);
  Parameters parameters(module, {});
  for (const Parameter& p : parameters.items()) p.value.copy_from(in.read(p.name));
  module.train();
  for (int64_t step = 0; step < 3; ++step) {
    const Tensor x = step_of(in, "x", step).set_requires_grad(true), y = scale(forward(x), 1);
    CHECK(step_of(out, "y", step).values() == y.values());
    backward(y, step_of(in, "dy", step));
    CHECK(step_of(out, "dx", step).values() == x.grad().values());
  }
  module.train(false);
  CHECK(out.read("y_eval") == forward(step_of(in, "x", 2)).values());
  for (const Parameter& p : parameters.items()) {
    CHECK(out.entry("d." + p.name).shape == in.entry(p.name).shape);
    CHECK(out.read("d." + p.name) == (p.value.grad() ? p.value.grad().values() : std::vector<real>(18)));
  }
  for (const Parameter& b : parameters.buffers()) CHECK(out.read(b.name) == b.value.values());
  CHECK(out.entries().size() == 3 + parameters.items().size() + parameters.buffers().size());
}

std::string error_of(const Files& f, const NormApplyOptions& options, const SafeTensorsWriter& input) {
  input.write(f.in);
  try {
    apply_norm(options, f.in, f.out);
  } catch (const Error& e) {
    CHECK(!std::filesystem::exists(f.out));
    return std::string(e.what()).replace(0, f.in.size(), "FILE");
  }
  return "no error";
}

SafeTensorsWriter without(SafeTensorsWriter w, const std::string& name) {
  std::erase_if(w.items, [&](const SafeTensorsWriter::Item& item) { return item.name == name; });
  return w;
}

}  // namespace

TEST_CASE("norm apply: each norm of hidden states gives what direct calls give, with offsets and without") {
  Files f;
  const SafeTensorsWriter everything = f.everything();
  for (const bool offsets : {true, false})
    for (const NormEntry& entry : norms().entries) {
      const std::string name = entry.name;
      INFO(name << ", offsets " << offsets);
      (offsets ? everything : without(without(everything, "offsets"), "tasks")).write(f.in);
      const bool one = name == "instance" || name == "group-sentence";
      const Batch batch = offsets ? three_sentences(tasks_of_sentences)
                                  : pack(sentences(one ? std::vector{8} : std::vector<int>(8, 1)));
      const auto norm = norms().make(in_groups(name, 2), {6, 3});
      check_same(f, {.norm = in_groups(name, 2)}, *norm, [&](const Tensor& x) { return (*norm)(x, batch); });
    }
}

TEST_CASE("norm apply: each norm of [CLS] gives what direct calls give, and gradient normalization, too") {
  Files f;
  f.everything().write(f.in);
  const SafeTensors in(f.in);
  for (const NormEntry& entry : cls_norms().entries) {
    INFO(std::string(entry.name));
    const auto norm = fitted(entry.name, 6, step_of(in, "fit", 0), 20);
    check_same(f, {.cls_norm = entry.name}, *norm, [&](const Tensor& h) { return (*norm)(h); });
  }
  Module none;
  for (const double alpha : {0.0, 0.5, 1.0})
    check_same(f, {.grad_norm = alpha}, none, [&](const Tensor& h) { return normalize_gradient(h, alpha); });
  CHECK(SafeTensors(f.out).read("y") == in.read("x"));
}

TEST_CASE("norm apply: PyTorch's values, and IsoBN by its authors' code") {
  const Files f;
  const SafeTensors norms(golden_file("norms.safetensors")), cls(golden_file("cls_norm.safetensors"));
  const auto check = [&](const SafeTensors& golden, const std::string& name, NormApplyOptions options,
                         bool parameters, bool sentences, double close) {
    INFO(name);
    SafeTensorsWriter w;
    std::deque<std::vector<real>> values;
    const auto add = [&](const std::string& tensor) {
      values.push_back(golden.read(tensor));
      w.add(tensor, golden.entry(tensor).shape, values.back());
    };
    add("x"), add("dy");
    if (parameters) add("weight"), add("bias");
    const std::vector<int64_t> offsets = {0, 4, 7, 13};
    if (sentences) w.add("offsets", {4}, offsets);
    w.write(f.in);
    apply_norm(options, f.in, f.out);
    const SafeTensors out(f.out);
    size_t compared = 0;
    for (const auto& [tensor, entry] : out.entries()) {
      const std::string theirs = golden.entries().count(name + "." + tensor) ? name + "." + tensor : tensor;
      if (!golden.entries().count(theirs)) continue;
      INFO(tensor);
      CHECK(entry.shape == golden.entry(theirs).shape);
      CHECK(difference(out.read(tensor), golden.read(theirs)) < close);
      ++compared;
    }
    CHECK(compared >= 3 + (&golden == &norms ? 2 : 0) + (name == "batch" ? 2 : 0));
  };
  const double close = tolerance(3e-6, 1e-6);      // the files are float32
  for (const std::string name : {"layer", "batch", "group", "group-sentence", "instance"})
    check(norms, name, {.norm = in_groups(name, 2)}, true, true, close);
  check(cls, "batch", {.cls_norm = "batch"}, true, false, tolerance(1e-5, 1e-6));
  check(cls, "iso-bn", {.cls_norm = "iso-bn:preset=authors"}, false, false, tolerance(1e-5, 1e-6));
}

TEST_CASE("norm apply: it says what of the input it did not need, and what it took from a new norm") {
  Files f;
  const SafeTensorsWriter everything = f.everything();
  using Names = std::vector<std::string>;
  everything.write(f.in);
  NormApplyReport report = apply_norm({.norm = "rms"}, f.in, f.out);
  CHECK(report.unused == Names{"bias", "fit", "task_bias", "task_weight", "tasks"});
  CHECK(report.initial == Names{});
  CHECK(report.steps == 3);
  CHECK(report.rows == 8);
  CHECK(report.hidden == 6);
  without(without(everything, "task_weight"), "bias").write(f.in);
  report = apply_norm({.norm = "conditional-layer"}, f.in, f.out);
  CHECK(report.unused == Names{"fit"});
  CHECK(report.initial == Names{"bias", "task_weight"});
  without(without(everything, "task_weight"), "task_bias").write(f.in);
  apply_norm({.norm = "conditional-layer"}, f.in, f.out);
  CHECK(SafeTensors(f.out).entry("d.task_bias").shape == std::vector<int64_t>{3, 6});
}

TEST_CASE("norm apply: options change what they name, and are an error where the norm has no such thing") {
  Files f;
  f.everything().write(f.in);
  const auto y = [&](const NormApplyOptions& o) {
    apply_norm(o, f.in, f.out);
    std::vector<real> all = SafeTensors(f.out).read("y_eval");
    for (const real v : SafeTensors(f.out).read("dx")) all.push_back(v);
    return all;
  };
  CHECK(y({.norm = "layer"}) != y({.norm = "layer:eps=0.1"}));
  CHECK(y({.norm = "layer"}) == y({.norm = "layer:eps=1e-12"}));
  CHECK(y({.norm = "batch"}) != y({.norm = "batch:momentum=0.3"}));
  CHECK(y({.norm = "group:groups=2"}) != y({.norm = "group:groups=3"}));
  CHECK(y({.cls_norm = "z"}) != y({.cls_norm = "z:eps=0.1"}));
  CHECK(y({.cls_norm = "batch"}) != y({.cls_norm = "batch:momentum=.3"}));
  CHECK(y({.cls_norm = "iso-bn"}) != y({.cls_norm = "iso-bn:beta=0.7"}));
  CHECK(y({.cls_norm = "iso-bn"}) == y({.cls_norm = "iso-bn:preset=ours"}));
  CHECK(y({.cls_norm = "iso-bn:preset=paper"}) != y({.cls_norm = "iso-bn:preset=authors"}));
  CHECK(y({.grad_norm = 0.5}) != y({.grad_norm = 1}));

  const auto refused = [&](const NormApplyOptions& o, const char* message) {
    CHECK_THROWS_WITH_AS(apply_norm(o, f.in, f.out), doctest::Contains(message), Error);
  };
  refused({}, "expected one of --norm NAME, --cls-norm NAME and --grad-norm ALPHA, but there are 0");
  refused({.norm = "layer", .cls_norm = "z"}, "there are 2");
  refused({.norm = "layr"}, "the norms are: none, layer, ");
  refused({.norm = "layer:momentum=.1"}, "layer has no option \"momentum\"; its options are eps=layer_norm_eps");
  refused({.cls_norm = "whitening:eps=1e-5"}, "whitening has no option \"eps\"; its options are shrinkage=0.01");
}

TEST_CASE("norm apply: what is wrong with a file is an error that names it, the tensor and what is expected") {
  Files f;
  const SafeTensorsWriter everything = f.everything();
  const auto with = [&](const std::string& name, std::vector<int64_t> shape, const auto& values) {
    SafeTensorsWriter w = without(everything, name);
    w.add(name, std::move(shape), std::span(values));
    return w;
  };
  const auto check = [&](const NormApplyOptions& o, const SafeTensorsWriter& w, const std::string& message) {
    CHECK(error_of(f, o, w) == "FILE: " + message);
  };
  using Integers = std::vector<int64_t>;
  const std::vector<real> some(48);
  const NormApplyOptions layer{.norm = "layer"}, conditional{.norm = "conditional-layer"}, z{.cls_norm = "z"};
  check(layer, without(everything, "x"), "there is no tensor x; expected x and dy [S,N,H]: S steps of N rows");
  check(layer, without(everything, "dy"), "there is no tensor dy; expected x and dy [S,N,H]: S steps of N rows");
  check(layer, with("x", {8, 6}, some),
        "x is [8, 6], expected [S,N,H]: S steps of N rows of H numbers, and none of the three is 0");
  check(layer, with("x", {3, 0, 6}, std::vector<real>()),
        "x is [3, 0, 6], expected [S,N,H]: S steps of N rows of H numbers, and none of the three is 0");
  check(layer, with("dy", {1, 8, 6}, some), "dy is [1, 8, 6], expected [S,N,H], here [3, 8, 6]");
  check(layer, with("weight", {48}, some), "weight is [48], expected [H], here [6]");
  check(conditional, with("task_bias", {8, 6}, some), "task_weight is [3, 6], expected [tasks,H], here [8, 6]");
  check(conditional, with("task_bias", {3}, Integers{1, 2, 3}), "task_bias is [3], expected [tasks,H], here [3, 6]");
  check(layer, with("wieght", {48}, some),
        "wieght is no input of a norm; they are x, dy, offsets, tasks, fit, weight, bias, task_weight, task_bias");
  check(layer, with("offsets", {3}, Integers{0, 3, 9}),
        "offsets run from 0 to 9, expected from 0 to the rows of x, 8");
  check(layer, with("offsets", {3}, Integers{1, 3, 8}),
        "offsets run from 1 to 8, expected from 0 to the rows of x, 8");
  check(layer, with("offsets", {4}, Integers{0, int64_t(1) << 60, 7, 8}),
        "offsets go from 1152921504606846976 to 7, expected that each is larger than the one before it");
  check(layer, with("offsets", {4}, Integers{0, 3, 3, 8}),
        "offsets go from 3 to 3, expected that each is larger than the one before it");
  check(layer, with("offsets", {2, 2}, Integers{0, 3, 3, 8}), "offsets is [2, 2], expected [B+1], here [2]");
  check(layer, with("offsets", {6, 8}, some), "offsets is [6, 8], expected [B+1], here [6]");
  check(layer, with("offsets", {48}, some), "offsets is of type F32, expected I64 or I32");
  check(conditional, with("tasks", {2}, Integers{0, 1}), "tasks is [2], expected [B], here [3]");
  check(conditional, with("tasks", {3}, Integers{0, 3, 1}),
        "tasks[1] is 3, expected 0 to 2, a row of task_weight and task_bias");
  check(conditional, with("tasks", {3}, Integers{0, 1, -1}),
        "tasks[2] is -1, expected 0 to 2, a row of task_weight and task_bias");
  check(z, without(everything, "fit"), "there is no tensor fit; z takes its statistics from fit [M,H], H = 6");
  check(z, with("fit", {6, 8}, some), "fit is [6, 8], expected [M,H], here [6, 6]");
  check(z, with("fit", {0, 6}, std::vector<real>()), "fit is [0, 6], expected [M,H], here [1, 6]");
}

}  // namespace minbert::test
